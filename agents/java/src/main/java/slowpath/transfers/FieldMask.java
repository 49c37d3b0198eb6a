/*
 * The backend that needs nothing of the machine: classes are rewritten when they are loaded, so that each object
 * can have a Watched beside it, in which reads of all fields leave their mark.
 */
package slowpath.transfers;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.objectweb.asm.Type;

final class FieldMask implements Backend {
    private static final int MOST_WATCHED = 10_000;

    /** Objects that were not watched, as too many are, and as reads of their class might be missed. */
    private final LongAdder tooMany = new LongAdder();
    private final LongAdder unseen = new LongAdder();
    private final ClassLayouts layouts;
    private final DataClass.Known dataClasses;
    private final Lifetimes lifetimes;
    /** Whether objects of just this class are watched now and then. */
    private final ClassValue<boolean[]> arrives = new ClassValue<>() {
        @Override
        protected boolean[] computeValue(Class<?> type) {
            return new boolean[1];
        }
    };

    FieldMask(ClassLayouts layouts, Lifetimes lifetimes) {
        this.layouts = layouts;
        this.lifetimes = lifetimes;
        dataClasses = new DataClass.Known(layouts);
    }

    @Override
    public String name() {
        return "field-mask";
    }

    @Override
    public DataClass dataClass(Class<?> type) {
        return Watchable.class.isAssignableFrom(type) ? dataClasses.of(type) : null;
    }

    @Override
    public void tellNotWatched(Json json) {
        json.with("too_many", tooMany.sum()).with("reads_unseen", unseen.sum());
    }

    @Override
    public void watch(Object object, int weight, DataClass type, Row row, List<Lifetimes.Sample> ofRequest) {
        arrives.get(object.getClass())[0] = true;
        Watched marks = Hooks.watchedOf(object);
        if (marks != null && !marks.becomeSample()) {
            return;
        }
        Rewriting.findMissedReads(layouts);
        List<String> classNames = ClassLayouts.withAncestors(object.getClass());
        if (!layouts.isSeen(classNames)) {
            unseen.increment();
            return;
        }
        if (lifetimes.watchedNow() >= MOST_WATCHED) {
            tooMany.increment();
            return;
        }
        Object[] values = type.values(object);
        if (marks == null) {
            marks = new Watched(values.length);
            marks.becomeSample();
        }
        Row.Chosen chosen = new Row.Chosen(marks, weight);
        row.measure(chosen, values);
        row.arm(chosen);
        ((Watchable) object).slowpath$watch(marks);
        lifetimes.add(new Sample(object, classNames, chosen, row), ofRequest);
    }

    /** An entity is about to be told that it is loaded: should it be chosen, what it reads then must not be missed. */
    void loading(Object entity) {
        try {
            DataClass type = dataClass(entity.getClass());
            if (type != null && type.isReadAtLoading && Hooks.watchedOf(entity) == null) {
                ((Watchable) entity).slowpath$watch(new Watched(type.fields.size()));
            }
        } catch (RuntimeException | LinkageError cause) {
            // It is none of those that are watched.
        }
    }

    @Override
    public boolean print(Object object, Object other, boolean isText) {
        // Of a list one object of each class is watched: it may be part of another one, whose text has what it has.
        return Hooks.watchedOf(object) != null || Hooks.watchedOf(other) != null
                || isText && arrives.get(object.getClass())[0];
    }

    @Override
    public void copy(Object object) {
        Watched watched = Hooks.watchedOf(object);
        if (watched != null) {
            watched.copy();
        }
    }

    void readByReflection(Watched watched, Field field) {
        if (ThreadState.current().isUncounted()) {
            return;
        }
        DataClass declaring = dataClass(field.getDeclaringClass());
        int number = declaring == null ? -1 : declaring.fields.indexOf(field);
        if (number >= 0) {
            watched.read(number);
        }
    }

    /** A handle that marks the read of a field before it reads. */
    MethodHandle marking(MethodHandle getter, Class<?> type, String field) {
        ClassLoader loader = type.getClassLoader();
        ClassLayout layout = loader == null ? null : layouts.of(loader, type.getName().replace('.', '/'));
        int number = layout == null ? -1 : layout.numberOf(field, Type.getDescriptor(getter.type().returnType()));
        if (number < 0) {
            return getter;
        }
        try {
            Class<?> receiver = getter.type().parameterType(0);
            MethodHandle mark = MethodHandles.lookup().findStatic(
                    Hooks.class, "mark", MethodType.methodType(Object.class, int.class, Object.class));
            return MethodHandles.filterArguments(getter, 0, MethodHandles.insertArguments(mark, 0, number)
                    .asType(MethodType.methodType(receiver, receiver)));
        } catch (ReflectiveOperationException | RuntimeException cause) {
            missReadsOf(type);
            return getter;
        }
    }

    /** From now on reads of fields of this class may be missed: no more of its objects are watched. */
    void missReadsOf(Class<?> type) {
        layouts.missReadsOf(type.getName().replace('.', '/'));
    }

    private final class Sample extends Lifetimes.Sample {
        /** Not the class, of which a static field may keep the object: it would never be dead. */
        private final List<String> classNames;
        private final Row.Chosen chosen;
        private final Row row;

        Sample(Object object, List<String> classNames, Row.Chosen chosen, Row row) {
            super(object, lifetimes);
            this.classNames = classNames;
            this.chosen = chosen;
            this.row = row;
        }

        @Override
        void end(boolean isDead) {
            Rewriting.findMissedReads(layouts);
            // Who reads the class unseen may have come while the object was watched.
            row.decide(chosen, isDead && layouts.isSeen(classNames));
        }
    }
}
