/*
 * Whether to look into an object might run code of others, for instance load it from a database. Of java.util that is
 * told by a list: many of its classes hand on what they are asked to a collection of the program's own.
 */
package slowpath.transfers;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

final class Opaque {
    /** So many views, one of the other, are looked through. */
    private static final int DEEPEST = 16;
    /** What is called of collections and maps here, and what that calls (of Java 11 to 25). */
    private static final Set<String> READS = Set.of("iterator", "listIterator", "descendingIterator", "size", "get",
            "values", "entrySet", "keySet", "isEmpty", "navigableKeySet", "sequencedValues", "sequencedEntrySet",
            "sequencedKeySet");

    /**
     * Classes that hold what is in them, and hand it out without asking it, or a comparator, for anything. None that
     * locks for it (as do Vector, Hashtable, blocking queues): who has that lock may wait for one that this thread has. None
     * that changes by it (as does WeakHashMap): the program may have a lock of its own for that.
     */
    private static final Set<String> HOLDERS = names(
            "java.util.", "ArrayList", "ArrayList$SubList", "Arrays$ArrayList", "LinkedList", "ArrayDeque", "PriorityQueue",
            "HashSet", "LinkedHashSet", "RegularEnumSet", "JumboEnumSet", "HashMap", "LinkedHashMap", "TreeMap", "EnumMap",
            "IdentityHashMap",
            "HashMap$KeySet", "HashMap$Values", "HashMap$EntrySet",
            "LinkedHashMap$LinkedKeySet", "LinkedHashMap$LinkedValues", "LinkedHashMap$LinkedEntrySet",
            "EnumMap$KeySet", "EnumMap$Values", "EnumMap$EntrySet",
            "IdentityHashMap$KeySet", "IdentityHashMap$Values", "IdentityHashMap$EntrySet",
            "Collections$EmptyList", "Collections$EmptySet", "Collections$EmptyMap", "Collections$SingletonList",
            "Collections$SingletonSet", "Collections$SingletonMap", "Collections$CopiesList",
            // Not all of these: some (since 25) compute what they have when they are asked for it.
            "ImmutableCollections$List12", "ImmutableCollections$ListN", "ImmutableCollections$Set12",
            "ImmutableCollections$SetN", "ImmutableCollections$Map1", "ImmutableCollections$MapN",
            "AbstractMap$SimpleEntry", "AbstractMap$SimpleImmutableEntry", "KeyValueHolder", "HashMap$Node",
            "HashMap$TreeNode", "LinkedHashMap$Entry", "TreeMap$Entry",
            "Optional", "OptionalInt", "OptionalLong", "OptionalDouble", "UUID", "Locale", "Currency", "BitSet",
            "regex.Pattern", "concurrent.atomic.AtomicReference",
            "concurrent.ConcurrentHashMap", "concurrent.ConcurrentSkipListMap", "concurrent.ConcurrentLinkedQueue",
            "concurrent.ConcurrentLinkedDeque", "concurrent.CopyOnWriteArrayList", "concurrent.CopyOnWriteArraySet",
            "concurrent.LinkedTransferQueue");

    /** Another such class, in which Gson keeps what an object of JSON has. */
    private static final String OF_GSON = "com.google.gson.internal.LinkedTreeMap";

    /**
     * Classes, also those that extend them, that hand on what they are asked, and the field that refers to whom. Nor do
     * these lock.
     */
    private static final Map<String, String> VIEWS = new HashMap<>();

    static {
        view("c", "Collections$UnmodifiableCollection", "Collections$CheckedCollection");
        view("m", "Collections$UnmodifiableMap", "Collections$CheckedMap", "Collections$SetFromMap", "TreeSet",
                "TreeMap$KeySet", "concurrent.ConcurrentSkipListSet", "concurrent.ConcurrentSkipListMap$KeySet",
                "concurrent.ConcurrentSkipListMap$Values", "concurrent.ConcurrentSkipListMap$EntrySet");
        view("q", "Collections$AsLIFOQueue");
        view("s", "Collections$CheckedMap$CheckedEntrySet");
        view("root", "AbstractList$SubList", "ImmutableCollections$SubList");
        view("map", "concurrent.ConcurrentHashMap$CollectionView");
        view("base", "ReverseOrderListView", "ReverseOrderDequeView", "LinkedHashMap$ReversedLinkedHashMapView");
        view("list", "LinkedList$ReverseOrderLinkedListView");
        view("this$0", "AbstractMap$1", "AbstractMap$2", "TreeMap$Values", "TreeMap$EntrySet",
                "LinkedHashSet$1ReverseLinkedHashSetView");
    }

    private static final Opaque YES = new Opaque(null);
    private static final Opaque NO = new Opaque(null);

    /** Of each class one of these, or through which field the answer is to be found. */
    private static final ClassValue<Opaque> OF_CLASS = new ClassValue<>() {
        @Override
        protected Opaque computeValue(Class<?> type) {
            return ofClass(type);
        }
    };

    private final Field through;

    private Opaque(Field through) {
        this.through = through;
    }

    private static Set<String> names(String begin, String... ends) {
        Set<String> names = new HashSet<>();
        for (String end : ends) {
            names.add(begin + end);
        }
        return names;
    }

    private static void view(String field, String... classes) {
        for (String name : classes) {
            VIEWS.put("java.util." + name, field);
        }
    }

    static boolean is(Object object) {
        Object asked = object;
        for (int depth = 0; depth < DEEPEST && asked != null; depth++) {
            Opaque answer = OF_CLASS.get(asked.getClass());
            if (answer.through == null) {
                return answer == YES;
            }
            try {
                asked = answer.through.get(asked);
            } catch (IllegalAccessException cause) {
                return true;
            }
        }
        return true;
    }

    private static Opaque ofClass(Class<?> type) {
        String name = type.getName();
        if (HOLDERS.contains(name) || name.startsWith("com.google.protobuf.") || name.equals(OF_GSON)) {
            return NO;
        }
        Class<?> view = type;
        while (view != null && view.getName().startsWith("java.util.")) {
            if (VIEWS.containsKey(view.getName())) {
                return through(view, VIEWS.get(view.getName()));
            }
            view = view.getSuperclass();
        }
        return view == type ? ofLike(type) : YES;
    }

    private static Opaque through(Class<?> view, String field) {
        try {
            Field through = view.getDeclaredField(field);
            Modules.open(view.getModule(), view.getPackageName());
            through.setAccessible(true);
            return new Opaque(through);
        } catch (NoSuchFieldException | RuntimeException | LinkageError cause) {
            return YES; // It is another version's.
        }
    }

    /** A class that is an ArrayList or the like by another name, as clients are given for its elements, is as that is. */
    private static Opaque ofLike(Class<?> type) {
        Class<?> parent = type.getSuperclass();
        boolean isMany = Collection.class.isAssignableFrom(type) || Map.class.isAssignableFrom(type);
        if (!isMany || parent == null || Modifier.isAbstract(parent.getModifiers())) {
            return YES;
        }
        try {
            for (Method method : type.getDeclaredMethods()) {
                if (READS.contains(method.getName())) {
                    return YES;
                }
            }
            return OF_CLASS.get(parent);
        } catch (LinkageError | TypeNotPresentException cause) {
            return YES; // A class that its methods name is missing.
        }
    }
}
