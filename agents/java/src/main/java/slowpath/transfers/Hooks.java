/*
 * What rewritten classes call: the agent's only way into the application, and so in nobody's way. Nothing here throws but
 * where a stack overflows: what is more than counting is done by `attempt`, or by Transfers, which catches what fails.
 * Public for the JVM's sake; not an interface for applications.
 */
package slowpath.transfers;

import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;

public final class Hooks {
    private static final String HIBERNATE = "Hibernate";

    /** Set once, before any class is rewritten; of the last two that one which is the backend. */
    static Transfers transfers;
    static Backend backend;
    static FieldMask fieldMask;
    static Watchpoints watchpoints;
    /** Failures that there was no room on the stack to count as others are; of those at the same time one may be missed. */
    static volatile int overflows;

    /** Where bodies, queries, cursors and messages come from; who waits for messages. */
    private static final Known<Endpoint> ENDPOINTS = new Known<>();
    private static final Known<Caller> CALLERS = new Known<>();

    private Hooks() {}

    /** Whatever fails in it, the application goes on. Not for what reflection and method handles call, which lambdas need. */
    private static void attempt(Runnable work) {
        try {
            work.run();
        } catch (Throwable cause) {
            transfers.failures.increment();
        }
    }

    /** What a hooked method restores a counter of when it ends. */
    public static ThreadState thread() {
        return ThreadState.current();
    }

    // Reads of fields.

    /** A method reads a field of an object of the application. */
    public static void read(Object object, int field) {
        Watched watched = watchedOf(object);
        if (watched != null) {
            watched.read(field);
        }
    }

    /** A message is asked whether a field is set; where reads are not seen by bytecode. */
    public static void presence(Object message, int field) {
        watchpoints.readPresence(message, field);
    }

    /** Somebody reads a field by reflection. */
    public static void readByReflection(Field field, Object object) {
        Watched watched = watchedOf(object);
        if (watched != null) {
            fieldMask.readByReflection(watched, field);
        }
    }

    /** Somebody gets a handle that reads the field. @return one that marks the read, too, where it must */
    public static MethodHandle getter(MethodHandle getter, Field field) {
        Class<?> type = field.getDeclaringClass();
        return Watchable.class.isAssignableFrom(type) ? fieldMask.marking(getter, type, field.getName()) : getter;
    }

    public static MethodHandle getter(MethodHandle getter, Class<?> type, String field, Class<?> fieldType) {
        return Watchable.class.isAssignableFrom(type) ? fieldMask.marking(getter, type, field) : getter;
    }

    /** Somebody gets a handle of a field of a class (or the field itself) through which reads cannot be seen. */
    public static void variableHandle(Object place) {
        Class<?> type = place instanceof Field ? ((Field) place).getDeclaringClass() : (Class<?>) place;
        if (type != null && Watchable.class.isAssignableFrom(type)) {
            fieldMask.missReadsOf(type);
        }
    }

    /** What marks a read of an object by such a handle; returns the object. */
    public static Object mark(int field, Object object) {
        read(object, field);
        return object;
    }

    /**
     * Begin of toString (`isText`), hashCode or equals of an object; another one is what it is compared with, or null.
     * @return for {@link #printed}: how many of them are under way now; 0: reads are not told apart for this one
     */
    public static int print(Object object, Object other, boolean isText) {
        try {
            if (!backend.print(object, other, isText)) {
                return 0;
            }
            ThreadState thread = ThreadState.current();
            thread.print();
            return thread.printing;
        } catch (StackOverflowError cause) {
            overflows++;
            throw cause; // As its reads would look like use, and its own calls find no room either.
        }
    }

    /** Its end; with that, of those inside of it, too, of which a stack that overflowed may have left some. */
    public static void printed(int begun) {
        if (begun > 0) {
            try {
                ThreadState thread = ThreadState.current();
                thread.printing = begun - 1;
                thread.printed();
            } catch (StackOverflowError cause) {
                overflows++;
            }
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
        backend.copy(object);
    }

    static Watched watchedOf(Object object) {
        return object instanceof Watchable ? (Watched) ((Watchable) object).slowpath$watched() : null;
    }

    /** Begin of making text of any object. */
    public static void beginPrint() {
        ThreadState.current().print();
    }

    public static void endPrint() {
        ThreadState.current().printed();
    }

    /** Begin of what a library does with objects for its own sake, such as looking for changes: no use. */
    public static void beginOwnReads() {
        ThreadState.current().beginUncounted();
    }

    public static void endOwnReads() {
        ThreadState.current().endUncounted();
    }

    /** Begin of what the validator reads: where Hibernate has it done, that is no use either. */
    public static void beginValidatorReads() {
        if (ThreadState.current().validating > 0) {
            beginOwnReads();
        }
    }

    public static void endValidatorReads() {
        if (ThreadState.current().validating > 0) {
            endOwnReads();
        }
    }

    // Remote objects: calls whose result is one, the outermost of each thread's.

    /** Begin of a method that asks a remote service; any argument may be null. */
    public static void call(Object method, Object uri, String template) {
        begin(uri == null && template == null ? null : () -> Endpoint.of(method, template, uri));
    }

    /** Begin of a method that runs a query in SQL: a text, or what Spring has one in. */
    public static void query(Object text, Object provider) {
        begin(() -> {
            Object query = text != null ? text : Asked.of(provider, "getSql");
            return query instanceof String ? Sql.endpoint((String) query) : null;
        });
    }

    /** Begin of a method that asks whom an object is known to ask; so does what it is called by, then. */
    public static void callThrough(Object known) {
        ThreadState thread = ThreadState.current();
        if (thread.receiving > 0 && thread.endpoint == null) {
            attempt(() -> thread.endpoint = ENDPOINTS.of(known));
        }
        begin(() -> ENDPOINTS.of(known));
    }

    /** Begin of a method that has MongoDB carry out a command. */
    public static void callCommand(Object namespace, String command) {
        begin(() -> new Endpoint(command, String.valueOf(namespace), Encoding.BSON));
    }

    /** Begin of a method that sends a request of Elasticsearch's client, to an endpoint as that names it. */
    public static void callSearch(Object request, Object endpoint) {
        begin(() -> search(request, endpoint));
    }

    private static Endpoint search(Object request, Object endpoint) {
        Object index = Asked.of(request, "index");
        String indices = index instanceof Collection
                ? ((Collection<?>) index).stream().map(String::valueOf).collect(Collectors.joining(", "))
                : index == null ? "" : index.toString();
        String name = String.valueOf(Asked.of(endpoint, "id"));
        return new Endpoint(name.substring(name.lastIndexOf('/') + 1), indices, Encoding.JSON);
    }

    /** Begin of a method that reads the body of an answer, which knows its request. */
    public static void answer(Object answer) {
        begin(() -> {
            Object request = Asked.of(answer, "getRequestContext");
            return Endpoint.of(Asked.of(request, "getMethod"), null, Asked.of(request, "getUri"));
        });
    }

    /** @param endpoint of the outermost one, if it counts; null: it is not known yet */
    private static void begin(Supplier<Endpoint> endpoint) {
        ThreadState thread = ThreadState.current();
        if (thread.receiving == 0) {
            attempt(thread::forgetPrintingThatEnded);
            thread.endpoint = null;
            if (endpoint != null && transfers.isCounting()) {
                thread.receiving = 1; // What is called for it is part of the call.
                try {
                    attempt(() -> thread.endpoint = endpoint.get());
                } finally {
                    thread.receiving = 0;
                }
            }
            thread.isShown = false;
        }
    }

    /** The call that has begun gives what arrives to this code first, or null: what that reads cannot be seen. */
    public static void shownTo(Object code) {
        if (code != null && transfers.mayRead(code.getClass().getName())) {
            ThreadState.current().isShown = true;
        }
    }

    /** Inside of such a method it becomes known whom it asks. */
    public static void calling(Object method, Object uri, Map<?, ?> attributes) {
        ThreadState thread = ThreadState.current();
        if (thread.receiving > 0 && thread.endpoint == null) {
            attempt(() -> thread.endpoint =
                    endpoint(method, uri, attributes, "org.springframework.web.client.RestClient"));
        }
    }

    /** The same, of Feign. */
    public static void callingByTemplate(Object template) {
        ThreadState thread = ThreadState.current();
        if (thread.receiving > 0 && thread.endpoint == null) {
            attempt(() -> thread.endpoint = ofTemplate(template));
        }
    }

    private static Endpoint ofTemplate(Object template) {
        Object general = Asked.of(Asked.of(Asked.of(template, "methodMetadata"), "template"), "url");
        Object base = Asked.of(Asked.of(template, "feignTarget"), "url");
        Object path = general == null ? Asked.of(template, "url") : general;
        String url = base == null ? String.valueOf(path) : base.toString() + path;
        return Endpoint.of(Asked.of(template, "method"), null, url);
    }

    private static Endpoint endpoint(Object method, Object uri, Map<?, ?> attributes, String client) {
        Object template = attributes == null ? null : attributes.get(client + ".uriTemplate");
        return Endpoint.of(method, template instanceof String ? (String) template : null, uri);
    }

    /** End of such a method, with what it returns. */
    public static void received(Object result, String by) {
        ThreadState thread = ThreadState.current();
        if (thread.receiving == 0 && result != null) {
            try {
                transfers.received(
                        result, thread.endpoint == null ? Endpoint.UNKNOWN : thread.endpoint, by, !thread.isShown);
            } catch (StackOverflowError cause) {
                overflows++;
            }
        }
    }

    /** Begin of a method that makes objects of a text. */
    public static void parse() {
        ThreadState thread = ThreadState.current();
        if (thread.receiving == 0) {
            attempt(thread::forgetPrintingThatEnded);
            thread.isShown = false;
        }
    }

    /** End of such a method: the objects are remote if the text is a body that came over the network. */
    public static void parsed(Object text, Object result, String by) {
        ThreadState thread = ThreadState.current();
        if (thread.receiving == 0 && result != null) {
            try {
                Endpoint endpoint = ENDPOINTS.of(text);
                if (endpoint != null) {
                    transfers.received(result, endpoint, by, !thread.isShown);
                }
            } catch (StackOverflowError cause) {
                overflows++;
            }
        }
    }

    // Remote objects: what is known of a library's objects until something arrives through them.

    /** The program takes the body of an answer of java.net.http. */
    public static void body(Object body, Object method, Object uri) {
        if (body instanceof String || body instanceof byte[] || body instanceof InputStream) {
            attempt(() -> ENDPOINTS.remember(body, Endpoint.of(method, null, uri)));
        } else if (body != null && ThreadState.current().receiving == 0) {
            attempt(() -> made(body, method, uri));
        }
    }

    /** What the program has had made of a body while that came (`BodySubscribers.mapping`) it takes the first time. */
    private static void made(Object body, Object method, Object uri) {
        boolean mayHold = body instanceof Collection || body instanceof Map || body instanceof Object[];
        if ((mayHold || backend.dataClass(body.getClass()) != null) && ENDPOINTS.of(body) == null) {
            Endpoint endpoint = Endpoint.of(method, null, uri);
            ENDPOINTS.remember(body, endpoint);
            transfers.received(body, endpoint, "java.net.http", true);
        }
    }

    /** A request of Spring's WebClient is complete: what its answer will be taken from. */
    public static void request(Object answer, Object method, Object uri, Map<?, ?> attributes) {
        attempt(() -> ENDPOINTS.remember(answer,
                endpoint(method, uri, attributes, "org.springframework.web.reactive.function.client.WebClient")));
    }

    /** What will be told of each object that arrives later, on whatever thread, for who asks now. */
    public static Consumer<Object> later(Object answer, String by) {
        Endpoint known = ENDPOINTS.of(answer);
        Endpoint endpoint = known == null ? Endpoint.UNKNOWN : known;
        Caller caller = transfers.caller();
        return result -> attempt(() -> transfers.received(result, caller, endpoint, by, true));
    }

    /** A command for a collection of MongoDB: what its answer will be read with. */
    public static void command(Object iterable, Object namespace, String command) {
        attempt(() -> ENDPOINTS.remember(
                iterable, new Endpoint(command, String.valueOf(namespace), Encoding.BSON)));
    }

    /** What one object reads from, another goes on reading from. */
    public static void readOn(Object reader, Object from) {
        Endpoint endpoint = ENDPOINTS.of(from);
        if (endpoint != null && reader != null) {
            ENDPOINTS.remember(reader, endpoint);
        }
    }

    /** gRPC is about to wait for messages: here is who asks. */
    public static void listen(Object listener) {
        Caller caller = transfers.caller();
        if (caller != null) {
            CALLERS.remember(listener, caller);
        }
    }

    /** gRPC has read a message. */
    public static void message(Object message, Object method) {
        if (message != null) {
            attempt(() -> ENDPOINTS.remember(message, new Endpoint("", "/" + method, Encoding.PROTOBUF)));
        }
    }

    /** The message is given to who waits for it. */
    public static void deliver(Object message, Object listener) {
        Caller caller = CALLERS.of(listener);
        Endpoint endpoint = ENDPOINTS.of(message);
        if (caller != null && endpoint != null) {
            attempt(() -> transfers.received(message, caller, endpoint, "gRPC", true));
        }
    }

    // Remote objects: entities, which Hibernate tells one by one while it loads.

    /** Begin of what may load entities. */
    public static void load() {
        ThreadState.current().beginLoading();
    }

    /** An entity is loaded; its own methods that want to know have not been called. */
    public static void loaded(Object entity, Object persister) {
        attempt(() -> load(entity, persister));
    }

    private static void load(Object entity, Object persister) {
        if (fieldMask != null && entity != null) {
            fieldMask.loading(entity);
        }
        Endpoint endpoint = ENDPOINTS.of(persister);
        if (endpoint == null) {
            Object spaces = Asked.of(persister, "getQuerySpaces");
            String tables = spaces instanceof Object[] ? Arrays.stream((Object[]) spaces).map(String::valueOf)
                    .collect(Collectors.joining(", ")) : "";
            endpoint = new Endpoint("SELECT", tables, Encoding.ROW);
            ENDPOINTS.remember(persister, endpoint);
        }
        if (!ThreadState.current().loaded(entity, endpoint)) {
            transfers.received(entity, endpoint, HIBERNATE, true);
        }
    }

    /** End of what may have loaded entities: those of a table are an answer of it. */
    public static void endLoad() {
        Map<Endpoint, List<Object>> entities = ThreadState.current().endLoading();
        if (entities != null) {
            attempt(() -> entities.forEach(
                    (endpoint, ofTable) -> transfers.received(ofTable, endpoint, HIBERNATE, true)));
        }
    }

    // Requests.

    /** A thread begins to serve a request; it ends. */
    public static void beginRequest(Object request) {
        ThreadState.current().beginRequest(request);
    }

    public static void endRequest() {
        ThreadState thread = ThreadState.current();
        Object request = thread.request();
        List<Lifetimes.Sample> samples = thread.endRequest();
        if (samples != null && !samples.isEmpty()) {
            // What is asynchronous goes on, on other threads, and who completes it is not seen.
            attempt(() ->
                    transfers.requestEnded(samples, !Boolean.TRUE.equals(Asked.of(request, "isAsyncStarted"))));
        }
    }
}
