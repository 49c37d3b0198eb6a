/*
 * What rewritten classes call: the agent's only way into the application, and so in nobody's way. Nothing here
 * throws. Public for the JVM's sake; not an interface for applications.
 */
package slowpath.transfers;

import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Field;
import java.util.Map;

public final class Hooks {
    /** Set once, before any class is rewritten. */
    static Transfers transfers;

    private Hooks() {}

    // Reads of fields.

    /** A method of the class itself reads a field. */
    public static void read(Watched watched, int field) {
        if (watched != null) {
            watched.read(field);
        }
    }

    /** Any method reads a field of an object of the application. */
    public static void read(Object object, int field) {
        if (object instanceof Watchable) {
            Watched watched = ((Watchable) object).slowpath$watched();
            if (watched != null) {
                watched.read(field);
            }
        }
    }

    /** Somebody reads a field by reflection. */
    public static void readByReflection(Field field, Object object) {
        if (object instanceof Watchable) {
            Watched watched = ((Watchable) object).slowpath$watched();
            if (watched != null) {
                transfers.readByReflection(watched, field);
            }
        }
    }

    /** Somebody gets a handle that reads the field. @return one that marks the read, too, where it must */
    public static MethodHandle getter(MethodHandle getter, Field field) {
        Class<?> type = field.getDeclaringClass();
        return Watchable.class.isAssignableFrom(type) ? transfers.marking(getter, type, field.getName()) : getter;
    }

    public static MethodHandle getter(MethodHandle getter, Class<?> type, String field, Class<?> fieldType) {
        return Watchable.class.isAssignableFrom(type) ? transfers.marking(getter, type, field) : getter;
    }

    /** Somebody gets a handle of a field of a class (or the field itself) through which reads cannot be seen. */
    public static void variableHandle(Object place) {
        Class<?> type = place instanceof Field ? ((Field) place).getDeclaringClass() : (Class<?>) place;
        if (type != null && Watchable.class.isAssignableFrom(type)) {
            transfers.missReadsOf(type);
        }
    }

    /** What marks a read of an object by such a handle; returns the object. */
    public static Object mark(int field, Object object) {
        read(object, field);
        return object;
    }

    /**
     * Begin of toString, hashCode or equals of an object; another one is what it is compared with, or null.
     * @return whether it is about an object that is watched, for {@link #printed}
     */
    public static boolean print(Object object, Object other) {
        if (watchedOf(object) == null && watchedOf(other) == null) {
            return false;
        }
        ThreadState.current().print();
        return true;
    }

    public static void printed(boolean begun) {
        if (begun) {
            ThreadState.current().printed();
        }
    }

    /** Begin of these methods of a record, which read its fields without bytecode. */
    public static void printRecord(Object object, Object other, int fields) {
        Watched watched = watchedOf(object);
        if (watched != null) {
            watched.print(0, fields);
        }
        Watched watchedOther = watchedOf(other);
        if (watchedOther != null) {
            watchedOther.print(0, fields);
        }
    }

    /** An object is about to be copied by its method clone. */
    public static void copy(Object object) {
        Watched watched = watchedOf(object);
        if (watched != null) {
            watched.copy();
        }
    }

    private static Watched watchedOf(Object object) {
        return object instanceof Watchable ? ((Watchable) object).slowpath$watched() : null;
    }

    // Remote objects.

    /** Begin of a method that asks a remote service; any argument may be null. */
    public static void call(Object method, Object uri, String template) {
        ThreadState thread = ThreadState.current();
        if (thread.receiving++ == 0) {
            thread.endpoint = uri == null && template == null ? null : Endpoint.of(method, template, uri);
        }
    }

    /** Inside of such a method it becomes known whom it asks. */
    public static void calling(Object method, Object uri, Map<?, ?> attributes) {
        ThreadState thread = ThreadState.current();
        if (thread.receiving > 0 && thread.endpoint == null) {
            Object template = attributes == null ? null
                    : attributes.get("org.springframework.web.client.RestClient.uriTemplate");
            thread.endpoint = Endpoint.of(method, template instanceof String ? (String) template : null, uri);
        }
    }

    /** End of such a method, with what it returns. */
    public static void received(Object result, String by) {
        ThreadState thread = ThreadState.current();
        if (--thread.receiving == 0 && result != null) {
            transfers.received(result, thread.endpoint == null ? Endpoint.UNKNOWN : thread.endpoint, by);
        }
    }

    /** Begin of a method that makes objects of a text. */
    public static void parse() {
        ThreadState.current().receiving++;
    }

    /** End of such a method: the objects are remote if the text is a body that came over the network. */
    public static void parsed(Object text, Object result, String by) {
        if (--ThreadState.current().receiving == 0 && result != null && text != null) {
            Endpoint endpoint = Bodies.endpointOf(text);
            if (endpoint != null) {
                transfers.received(result, endpoint, by);
            }
        }
    }

    /** A method of either kind ended with an exception. */
    public static void failed() {
        ThreadState.current().receiving--;
    }

    /** The program takes the body of an answer of java.net.http. */
    public static void body(Object body, Object method, Object uri) {
        if (body instanceof String || body instanceof byte[] || body instanceof InputStream) {
            Bodies.remember(body, Endpoint.of(method, null, uri));
        }
    }

    /** A thread begins to serve a request; it ends. */
    public static void beginRequest() {
        ThreadState.current().beginRequest();
    }

    public static void endRequest() {
        transfers.requestEnded(ThreadState.current().endRequest());
    }
}
