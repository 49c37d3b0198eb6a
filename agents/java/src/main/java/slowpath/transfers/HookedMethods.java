/*
 * The methods of libraries through which remote objects reach a program, requests begin and end, and fields are
 * read without bytecode: one list, in which a family is a line or two. Versions of a library whose methods are
 * called otherwise are not hooked, silently: nothing is received through them.
 */
package slowpath.transfers;

import static slowpath.transfers.AroundHooked.argument;
import static slowpath.transfers.AroundHooked.field;
import static slowpath.transfers.AroundHooked.nothing;
import static slowpath.transfers.AroundHooked.of;
import static slowpath.transfers.AroundHooked.own;
import static slowpath.transfers.AroundHooked.self;
import static slowpath.transfers.AroundHooked.text;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiPredicate;
import org.objectweb.asm.AnnotationVisitor;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.AdviceAdapter;
import slowpath.transfers.AroundHooked.Calls;
import slowpath.transfers.AroundHooked.Value;

final class HookedMethods {
    private static final String CLASS = "java/lang/Class";
    static final String HOOKS = "slowpath/transfers/Hooks";
    private static final String REMOTE_OBJECT = "Lslowpath/transfers/RemoteObject;";
    /** What of a session may load entities; the same in Hibernate 5, 6 and 7. */
    private static final Set<String> HIBERNATE_LOADS = Set.of("fireLoad", "fireLoadNoChecks", "fireRefresh",
            "immediateLoad", "internalLoad", "initializeCollection", "findMultiple");
    private static final String SPRING_FUNCTION =
            "org.springframework.web.client.RestClient$RequestHeadersSpec$ExchangeFunction";
    private static final Set<String> TEXTS =
            Set.of("java.lang.String", "byte[]", "java.io.InputStream", "java.io.Reader");

    /** How the code of a hooked method is changed. */
    private interface Change {
        MethodVisitor of(int access, String owner, String method, String type, MethodVisitor next);
    }

    private static final class Hook {
        final BiPredicate<String, String> method;
        final Change change;
        /** Fields of the class that the change uses; where one is missing, it is another version. */
        final List<String> uses;
        /** What the option `remote` has for it; empty: nothing. */
        final String named;

        Hook(BiPredicate<String, String> method, Change change, String named, String... uses) {
            this.method = method;
            this.change = change;
            this.named = named;
            this.uses = List.of(uses);
        }
    }

    private final Map<String, List<Hook>> hooks = new HashMap<>();
    /** Of what the option `remote` names: what no class has had so far. */
    final Set<String> remoteNotFound = ConcurrentHashMap.newKeySet();

    /** @param remoteMethods "package.Class#method": what they return is remote, too */
    HookedMethods(Set<String> remoteMethods) {
        spring();
        databases();
        otherClients();
        String http = "java/net/http/HttpRequest";
        Value request = own("request", http);
        add("jdk/internal/net/http/HttpResponseImpl", named("body"), around(calls().returning(
                "body", of(request, http, "method", "java/lang/String"), of(request, http, "uri", "java/net/URI"))));
        for (String parser : List.of("com/fasterxml/jackson/databind/ObjectMapper",
                "com/fasterxml/jackson/databind/ObjectReader", "tools/jackson/databind/ObjectMapper",
                "tools/jackson/databind/ObjectReader")) {
            add(parser, HookedMethods::readsText, (access, owner, method, type, next) ->
                    new Parser(access, method, type, "java.net.http, Jackson", next));
        }
        add("com/google/gson/Gson", HookedMethods::readsText, (access, owner, method, type, next) ->
                new Parser(access, method, type, "java.net.http, Gson", next));
        for (String servlet : List.of("jakarta/servlet/http/HttpServlet", "javax/servlet/http/HttpServlet")) {
            add(servlet, (method, type) -> method.equals("service") && type.contains("/ServletRequest;"),
                    around(calls().restoring("requests").begin("beginRequest", argument(0)).end("endRequest")));
        }
        for (String remote : remoteMethods) {
            int hash = remote.indexOf('#');
            String shown = remote.substring(0, hash) + "." + remote.substring(hash + 1);
            Change change = around(client("option remote").begin("call", nothing(), nothing(), text(shown)));
            remoteNotFound.add(remote);
            add(remote.substring(0, hash).replace('.', '/'),
                    new Hook(named(remote.substring(hash + 1)), change, remote));
        }
    }

    /** Hooks, too, what the field mask needs: reads without bytecode, and where somebody might find what it adds. */
    void addReads() {
        Set<String> gets = Set.of("get", "getBoolean", "getByte", "getChar", "getShort", "getInt", "getLong", "getFloat",
                "getDouble");
        add("java/lang/reflect/Field", (method, type) -> gets.contains(method),
                around(calls().begin("readByReflection", self(), argument(0))));
        for (String updated : List.of("Integer", "Long", "Reference")) {
            add("java/util/concurrent/atomic/Atomic" + updated + "FieldUpdater", named("newUpdater"),
                    around(calls().begin("variableHandle", argument(0))));
        }
        add("java/io/ObjectOutputStream", (method, type) -> method.equals("writeOrdinaryObject"),
                around(calls().begin("copy", argument(0))));
        add(CLASS, named("privateGetDeclaredFields"), (access, owner, method, type, next) ->
                new Reflected(access, method, type, "fields", next));
        add(CLASS, named("privateGetDeclaredMethods"), (access, owner, method, type, next) ->
                new Reflected(access, method, type, "methods", next));
        add(CLASS, named("getInterfaces"), (access, owner, method, type, next) ->
                new Reflected(access, method, type, "interfaces", next));
        String lookup = "java/lang/invoke/MethodHandles$Lookup";
        add(lookup, named("unreflectGetter", "findGetter"), Getter::new);
        add(lookup, named("defineHiddenClass", "defineHiddenClassWithClassData"), HiddenClass::new);
        add(lookup, named("unreflectVarHandle", "findVarHandle"),
                around(calls().begin("variableHandle", argument(0))));
    }

    private void spring() {
        Value httpMethod = argument("org.springframework.http.HttpMethod");
        Value uri = argument("java.net.URI");
        add("org/springframework/web/client/RestTemplate", named("doExecute"),
                around(client("RestTemplate").begin("call", httpMethod, uri, argument("java.lang.String"))
                        .begin("shownTo", argument("org.springframework.web.client.ResponseExtractor"))));
        String restClient = "org/springframework/web/client/DefaultRestClient$DefaultRequestBodyUriSpec";
        add(restClient, named("exchangeInternal"),
                around(client("RestClient").begin("call", nothing(), nothing(), nothing())
                        .begin("shownTo", argument(SPRING_FUNCTION))));
        Value methodField = field("httpMethod", "Lorg/springframework/http/HttpMethod;");
        Value attributes = field("attributes", "Ljava/util/Map;");
        add(restClient, (method, type) -> method.equals("createRequest") && type.startsWith("(Ljava/net/URI;)"),
                around(calls().begin("calling", methodField, argument(0), attributes)), "httpMethod", "attributes");
        String webClient = "org/springframework/web/reactive/function/client/DefaultWebClient$";
        add(webClient + "DefaultRequestBodyUriSpec", named("retrieve"),
                around(calls().returning("request", methodField, field("uri", "Ljava/net/URI;"), attributes)),
                "httpMethod", "uri", "attributes");
        add(webClient + "DefaultResponseSpec", named("bodyToMono", "bodyToFlux", "toEntity", "toEntityList"),
                (access, owner, method, type, next) -> new Later(access, method, type, "WebClient", next));
        add("org/springframework/jdbc/core/JdbcTemplate", named("query", "queryForObject", "queryForList"),
                around(client("JdbcTemplate").begin("query", argument("java.lang.String"),
                        argument("org.springframework.jdbc.core.PreparedStatementCreator"))
                        .begin("shownTo", argument("org.springframework.jdbc.core.ResultSetExtractor"))));
        // Whom it asks, the driver of MongoDB tells.
        add("org/springframework/data/mongodb/core/MongoTemplate", named("find", "findOne", "findById", "findAll",
                "findDistinct", "findAndModify", "findAndReplace", "findAndRemove", "doFind", "doFindOne", "aggregate",
                "doAggregate"), around(client("MongoTemplate").begin("call", nothing(), nothing(), nothing())));
    }

    private void databases() {
        Change load = around(calls().restoring("loading").begin("load").end("endLoad"));
        add("org/hibernate/internal/SessionImpl", (method, type) -> HIBERNATE_LOADS.contains(method), load);
        for (String access : List.of("MultiIdentifierLoadAccessImpl", "SessionImpl$MultiIdentifierLoadAccessImpl")) {
            add("org/hibernate/internal/" + access, named("multiLoad"), load);
        }
        for (String query : List.of("org/hibernate/query/spi/AbstractSelectionQuery",
                "org/hibernate/query/spi/AbstractQuery", "org/hibernate/query/internal/AbstractProducedQuery")) {
            add(query, named("list", "uniqueResult", "getSingleResult"), load);
        }
        String event = "org/hibernate/event/spi/PostLoadEvent";
        add("org/hibernate/event/internal/DefaultPostLoadEventListener", (method, type) ->
                method.equals("onPostLoad") && type.startsWith("(L" + event + ";)"), around(calls().begin("loaded",
                        of(argument(0), event, "getEntity", "java/lang/Object"),
                        of(argument(0), event, "getPersister", "org/hibernate/persister/entity/EntityPersister"))));
        Change ownReads = around(calls().restoring("uncounted").begin("beginOwnReads").end("endOwnReads"));
        for (String getter : List.of("GetterFieldImpl", "GetterMethodImpl")) {
            add("org/hibernate/property/access/spi/" + getter, named("get", "getForInsert"), ownReads);
        }
        add("org/hibernate/bytecode/spi/ReflectionOptimizer$AccessOptimizer", named("getPropertyValues"), ownReads);
        Change validation = around(calls().counting("validating"));
        for (String place : List.of("org/hibernate/cfg/", "org/hibernate/boot/")) {
            add(place + "beanvalidation/BeanValidationEventListener", (method, type) -> method.equals("validate"),
                    validation);
        }
        // Its fields alone: what methods of the entity and the program's own validators read, the program reads.
        add("org/hibernate/validator/internal/properties/javabean/JavaBeanField$FieldAccessor", named("getValueFrom"),
                around(calls().restoring("uncounted").begin("beginValidatorReads").end("endValidatorReads")));
        String mongo = "com/mongodb/client/internal/";
        Value namespace = own("getNamespace", "com/mongodb/MongoNamespace");
        for (String command : List.of("find", "aggregate", "distinct", "mapReduce", "watch")) {
            add(mongo + "MongoCollectionImpl", named(command),
                    around(calls().returning("command", namespace, text(command))));
        }
        for (String command : List.of("findOneAndDelete", "findOneAndReplace", "findOneAndUpdate")) {
            add(mongo + "MongoCollectionImpl", named(command),
                    around(client("MongoDB").begin("callCommand", namespace, text(command))));
        }
        Change found = around(client("MongoDB").begin("callThrough", self()));
        for (String iterable : List.of("MongoIterableImpl", "FindIterableImpl")) {
            add(mongo + iterable, named("first"), found);
        }
        add(mongo + "MongoIterableImpl", named("execute"), around(calls().returning("readOn", self())));
        for (String cursor : List.of("CommandBatchCursor", "QueryBatchCursor", "SingleBatchCursor")) {
            add("com/mongodb/internal/operation/" + cursor, named("next", "tryNext"), found);
        }
    }

    private void otherClients() {
        for (String transport : List.of("rest_client/RestClientTransport", "ElasticsearchTransportBase")) {
            add("co/elastic/clients/transport/" + transport, named("performRequest"),
                    around(client("Elasticsearch").begin("callSearch", argument(0), argument(1))));
        }
        add("feign/SynchronousMethodHandler", named("invoke"),
                around(client("Feign").begin("call", nothing(), nothing(), nothing())));
        add("feign/SynchronousMethodHandler", named("targetRequest"),
                around(calls().begin("callingByTemplate", argument(0))));
        add("org/glassfish/jersey/client/ClientResponse", named("readEntity"),
                around(client("JAX-RS").begin("answer", self())));
        add("io/grpc/MethodDescriptor", named("parseResponse"),
                around(calls().returning("message", own("getFullMethodName", "java/lang/String"))));
        for (String listener : List.of("ClientCalls$UnaryStreamToFuture",
                "ClientCalls$StreamObserverToCallListenerAdapter",
                "ClientCalls$BlockingResponseStream$QueuingListener")) {
            add("io/grpc/stub/" + listener, (method, type) -> method.equals("<init>"),
                    around(calls().begin("listen", self())));
            add("io/grpc/stub/" + listener, (method, type) -> method.equals("onMessage"),
                    around(calls().begin("deliver", argument(0), self())));
        }
        add("com/google/protobuf/AbstractMessage", named("toString"),
                around(calls().restoring("printing").begin("beginPrint").end("endPrint")));
    }

    private static Calls calls() {
        return new Calls();
    }

    /** Of a method that returns what a remote service answered. */
    private static Calls client(String by) {
        return calls().counting("receiving").returning("received", text(by));
    }

    private static Change around(Calls calls) {
        return (access, owner, method, type, next) -> new AroundHooked(access, owner, method, type, calls, next);
    }

    /** Methods of these names that return an object: a hook that is given a number for one makes no class that loads. */
    private static BiPredicate<String, String> named(String... names) {
        Set<String> all = Set.of(names);
        return (method, type) -> all.contains(method) && returnsObject(type);
    }

    private static boolean returnsObject(String type) {
        return Type.getReturnType(type).getSort() >= Type.ARRAY;
    }

    private void add(String owner, BiPredicate<String, String> method, Change change, String... uses) {
        add(owner, new Hook(method, change, "", uses));
    }

    private void add(String owner, Hook hook) {
        hooks.computeIfAbsent(owner, none -> new ArrayList<>()).add(hook);
    }

    private static boolean readsText(String method, String type) {
        return (method.equals("readValue") || method.equals("fromJson"))
                && TEXTS.contains(Type.getArgumentTypes(type)[0].getClassName()) && returnsObject(type);
    }

    /** @param name with slashes between packages */
    boolean hasClass(String name) {
        return hooks.containsKey(name);
    }

    /** Whether the class has hooked methods, or methods of an interface that are hooked wherever they are. */
    boolean hasClass(Class<?> loaded) {
        boolean has = hasClass(loaded.getName().replace('.', '/'));
        for (Class<?> implemented : loaded.getInterfaces()) {
            has |= hasClass(implemented.getName().replace('.', '/'));
        }
        return has;
    }

    /** For any class: methods may be annotated. */
    ClassVisitor visitor(ClassReader file, ClassVisitor next) {
        String owner = file.getClassName();
        List<Hook> ofClass = new ArrayList<>(hooks.getOrDefault(owner, List.of()));
        for (String implemented : file.getInterfaces()) {
            ofClass.addAll(hooks.getOrDefault(implemented, List.of()));
        }
        Map<String, String> annotated = annotated(file);
        annotated.forEach((one, endpoint) -> ofClass.add(new Hook(
                (method, type) -> one.equals(method + type), (access, of, method, type, code) ->
                        around(client("@RemoteObject").begin("call", nothing(), nothing(), text(endpoint)))
                        .of(access, of, method, type, code), "")));
        if (ofClass.isEmpty()) {
            return next;
        }
        Set<String> fields = new HashSet<>();
        return new ClassVisitor(Opcodes.ASM9, next) {
            @Override
            public FieldVisitor visitField(int access, String field, String type, String signature, Object value) {
                fields.add(field);
                return super.visitField(access, field, type, signature, value);
            }

            @Override
            public MethodVisitor visitMethod(int access, String method, String type, String sign, String[] thrown) {
                MethodVisitor code = super.visitMethod(access, method, type, sign, thrown);
                if ((access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE | Opcodes.ACC_BRIDGE)) != 0) {
                    if ((access & Opcodes.ACC_BRIDGE) == 0 && annotated.containsKey(method + type)) {
                        System.err.println("slowpath: @RemoteObject on " + owner.replace('/', '.') + "#" + method
                                + " does nothing, as it has no code (hint: on the methods that implement it)");
                    }
                    return code;
                }
                Hook first = null;
                for (Hook hook : ofClass) {
                    if (hook.method.test(method, type) && fields.containsAll(hook.uses)) {
                        first = first == null ? hook : first;
                        remoteNotFound.remove(hook.named);
                    }
                }
                return first == null ? code : first.change.of(access, owner, method, type, code);
            }
        };
    }

    /** Methods of a class that are annotated as returning remote objects, with what is shown for their endpoint. */
    private static Map<String, String> annotated(ClassReader file) {
        Map<String, String> annotated = new HashMap<>();
        String owner = file.getClassName().replace('/', '.');
        file.accept(new ClassVisitor(Opcodes.ASM9) {
            @Override
            public MethodVisitor visitMethod(int access, String method, String type, String sign, String[] thrown) {
                return !returnsObject(type) ? null : new MethodVisitor(Opcodes.ASM9) {
                    @Override
                    public AnnotationVisitor visitAnnotation(String annotation, boolean visible) {
                        if (!annotation.equals(REMOTE_OBJECT)) {
                            return null;
                        }
                        annotated.put(method + type, owner + "." + method);
                        return new AnnotationVisitor(Opcodes.ASM9) {
                            @Override
                            public void visit(String name, Object value) {
                                annotated.put(method + type, value.toString());
                            }
                        };
                    }
                };
            }
        }, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        return annotated;
    }

    /** A method that makes objects of the text that is its first argument. */
    private static final class Parser extends AroundMethod {
        private final String by;
        private int text;

        Parser(int access, String method, String type, String by, MethodVisitor next) {
            super(access, method, type, next);
            this.by = by;
        }

        @Override
        void begin() {
            keep("receiving");
            call(HOOKS, "parse", "()V");
            text = newLocal(Type.getType(Object.class));
            loadArg(0);
            storeLocal(text);
            raise();
        }

        @Override
        void returning() {
            restore();
            dup();
            loadLocal(text);
            swap();
            visitLdcInsn(by);
            call(HOOKS, "parsed", "(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/String;)V");
        }

        @Override
        void throwing() {
            restore();
        }
    }

    /** Where Spring's WebClient returns what objects will come out of. */
    private static final class Later extends AdviceAdapter {
        private final String type;
        private final String by;

        Later(int access, String method, String type, String by, MethodVisitor next) {
            super(Opcodes.ASM9, next, access, method, type);
            this.type = Type.getReturnType(type).getInternalName();
            this.by = by;
        }

        @Override
        protected void onMethodExit(int opcode) {
            if (opcode == ARETURN) {
                loadThis();
                visitLdcInsn(by);
                visitMethodInsn(INVOKESTATIC, HOOKS, "later",
                        "(Ljava/lang/Object;Ljava/lang/String;)Ljava/util/function/Consumer;", false);
                visitMethodInsn(
                        INVOKEVIRTUAL, type, "doOnNext", "(Ljava/util/function/Consumer;)L" + type + ";", false);
            }
        }
    }

    /** Where Java's reflection tells of members of a class. */
    private static final class Reflected extends AdviceAdapter {
        private final String type;
        private final String members;

        Reflected(int access, String method, String type, String members, MethodVisitor next) {
            super(Opcodes.ASM9, next, access, method, type);
            this.type = Type.getReturnType(type).getDescriptor();
            this.members = members;
        }

        @Override
        protected void onMethodExit(int opcode) {
            if (opcode == ARETURN) {
                loadThis();
                visitMethodInsn(INVOKESTATIC, "slowpath/transfers/Hidden", members,
                        "(" + type + "Ljava/lang/Class;)" + type, false);
            }
        }
    }

    /** Where a program makes a hidden class of a file. (Java's own, those of lambdas, are made elsewhere.) */
    private static final class HiddenClass extends AdviceAdapter {
        HiddenClass(int access, String owner, String method, String type, MethodVisitor next) {
            super(Opcodes.ASM9, next, access, method, type);
        }

        @Override
        protected void onMethodEnter() {
            loadThis();
            loadArg(0);
            visitMethodInsn(INVOKESTATIC, "slowpath/transfers/HiddenClasses", "rewritten",
                    "(Ljava/lang/invoke/MethodHandles$Lookup;[B)[B", false);
            storeArg(0);
        }
    }

    /** Where Java makes a method handle that reads a field. */
    private static final class Getter extends AdviceAdapter {
        private final String type;

        Getter(int access, String owner, String method, String type, MethodVisitor next) {
            super(Opcodes.ASM9, next, access, method, type);
            this.type = type;
        }

        @Override
        protected void onMethodExit(int opcode) {
            if (opcode == ARETURN) {
                loadArgs();
                String handle = "Ljava/lang/invoke/MethodHandle;";
                visitMethodInsn(INVOKESTATIC, HOOKS, "getter", type.replace("(", "(" + handle), false);
            }
        }
    }
}
