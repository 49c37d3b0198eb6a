/*
 * The methods of libraries through which remote objects reach a program, requests begin and end, and fields are
 * read without bytecode: one list, in which a family is a line or two. Versions of a library whose methods are
 * called otherwise are not hooked, silently: nothing is received through them.
 */
package slowpath.transfers;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiPredicate;
import org.objectweb.asm.AnnotationVisitor;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.AdviceAdapter;

final class HookedMethods {
    private static final String CLASS = "java/lang/Class";
    private static final String HOOKS = "slowpath/transfers/Hooks";
    private static final String REMOTE_OBJECT = "Lslowpath/transfers/RemoteObject;";
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

        Hook(BiPredicate<String, String> method, Change change, String... uses) {
            this.method = method;
            this.change = change;
            this.uses = List.of(uses);
        }
    }

    private final Map<String, List<Hook>> hooks = new HashMap<>();

    /** @param remoteMethods "package.Class#method": what they return is remote, too */
    HookedMethods(Set<String> remoteMethods) {
        add("org/springframework/web/client/RestTemplate", "doExecute",
                (access, owner, method, type, next) -> new Client(access, method, type, "RestTemplate", null, next));
        String restClient = "org/springframework/web/client/DefaultRestClient$DefaultRequestBodyUriSpec";
        add(restClient, "exchangeInternal",
                (access, owner, method, type, next) -> new Client(access, method, type, "RestClient", null, next));
        hooks.get(restClient).add(new Hook(
                (method, type) -> method.equals("createRequest") && type.startsWith("(Ljava/net/URI;)"),
                RestClientRequest::new, "httpMethod", "attributes"));
        add("jdk/internal/net/http/HttpResponseImpl", "body", Body::new);
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
                    Request::new);
        }
        add("java/lang/reflect/Field", (method, type) -> method.startsWith("get")
                && type.startsWith("(Ljava/lang/Object;)"), Reflection::new);
        add(CLASS, "privateGetDeclaredFields", (access, owner, method, type, next) ->
                new Reflected(access, method, type, "fields", next));
        add(CLASS, "privateGetDeclaredMethods", (access, owner, method, type, next) ->
                new Reflected(access, method, type, "methods", next));
        add(CLASS, "getInterfaces", (access, owner, method, type, next) ->
                new Reflected(access, method, type, "interfaces", next));
        String lookup = "java/lang/invoke/MethodHandles$Lookup";
        add(lookup, "unreflectGetter", Getter::new);
        add(lookup, "findGetter", Getter::new);
        add(lookup, "unreflectVarHandle", VariableHandle::new);
        add(lookup, "findVarHandle", VariableHandle::new);
        for (String remote : remoteMethods) {
            int hash = remote.indexOf('#');
            String shown = remote.substring(0, hash) + "." + remote.substring(hash + 1);
            add(remote.substring(0, hash).replace('.', '/'), remote.substring(hash + 1),
                    (access, owner, method, type, next) ->
                            new Client(access, method, type, "option remote", shown, next));
        }
    }

    private void add(String owner, String method, Change change) {
        add(owner, (name, type) -> name.equals(method) && !type.endsWith(")V"), change);
    }

    private void add(String owner, BiPredicate<String, String> method, Change change) {
        hooks.computeIfAbsent(owner, none -> new ArrayList<>()).add(new Hook(method, change));
    }

    private static boolean readsText(String method, String type) {
        return (method.equals("readValue") || method.equals("fromJson"))
                && TEXTS.contains(Type.getArgumentTypes(type)[0].getClassName()) && !type.endsWith(")V");
    }

    /** @param name with slashes between packages */
    boolean hasClass(String name) {
        return hooks.containsKey(name);
    }

    /** For any class: methods may be annotated. */
    ClassVisitor visitor(ClassReader file, ClassVisitor next) {
        String owner = file.getClassName();
        List<Hook> ofClass = new ArrayList<>(hooks.getOrDefault(owner, List.of()));
        annotated(file).forEach((annotated, endpoint) -> ofClass.add(new Hook(
                (method, type) -> annotated.equals(method + type), (access, of, method, type, code) ->
                        new Client(access, method, type, "@RemoteObject", endpoint, code))));
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
                    return code;
                }
                for (Hook hook : ofClass) {
                    if (hook.method.test(method, type) && fields.containsAll(hook.uses)) {
                        return hook.change.of(access, owner, method, type, code);
                    }
                }
                return code;
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
                return type.endsWith(")V") ? null : new MethodVisitor(Opcodes.ASM9) {
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

    /** A method that asks a remote service and returns what it answered. */
    private static final class Client extends AroundMethod {
        private final String by;
        /** What is shown for its URL; null: its arguments tell. */
        private final String endpoint;

        Client(int access, String method, String type, String by, String endpoint, MethodVisitor next) {
            super(access, method, type, next);
            this.by = by;
            this.endpoint = endpoint;
        }

        @Override
        void begin() {
            loadArgument("org.springframework.http.HttpMethod");
            loadArgument("java.net.URI");
            if (endpoint != null) {
                visitLdcInsn(endpoint);
            } else {
                loadArgument("java.lang.String");
            }
            call(HOOKS, "call", "(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/String;)V");
        }

        /** The first argument of this class; null where there is none. */
        private void loadArgument(String className) {
            Type[] types = getArgumentTypes();
            for (int argument = 0; argument < types.length; argument++) {
                if (types[argument].getClassName().equals(className)) {
                    loadArg(argument);
                    return;
                }
            }
            visitInsn(ACONST_NULL);
        }

        @Override
        void returning() {
            dup();
            visitLdcInsn(by);
            call(HOOKS, "received", "(Ljava/lang/Object;Ljava/lang/String;)V");
        }

        @Override
        void throwing() {
            call(HOOKS, "failed", "()V");
        }
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
            call(HOOKS, "parse", "()V");
            text = newLocal(Type.getType(Object.class));
            loadArg(0);
            storeLocal(text);
        }

        @Override
        void returning() {
            dup();
            loadLocal(text);
            swap();
            visitLdcInsn(by);
            call(HOOKS, "parsed", "(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/String;)V");
        }

        @Override
        void throwing() {
            call(HOOKS, "failed", "()V");
        }
    }

    /** A method that serves a request. */
    private static final class Request extends AroundMethod {
        Request(int access, String owner, String method, String type, MethodVisitor next) {
            super(access, method, type, next);
        }

        @Override
        void begin() {
            call(HOOKS, "beginRequest", "()V");
        }

        @Override
        void returning() {
            call(HOOKS, "endRequest", "()V");
        }

        @Override
        void throwing() {
            call(HOOKS, "endRequest", "()V");
        }
    }

    /** Where Spring's RestClient knows method, URI and attributes. */
    private static final class RestClientRequest extends AdviceAdapter {
        private final Type owner;

        RestClientRequest(int access, String owner, String method, String type, MethodVisitor next) {
            super(Opcodes.ASM9, next, access, method, type);
            this.owner = Type.getObjectType(owner);
        }

        @Override
        protected void onMethodEnter() {
            loadThis();
            getField(owner, "httpMethod", Type.getObjectType("org/springframework/http/HttpMethod"));
            loadArg(0);
            loadThis();
            getField(owner, "attributes", Type.getType(Map.class));
            visitMethodInsn(INVOKESTATIC, HOOKS, "calling",
                    "(Ljava/lang/Object;Ljava/lang/Object;Ljava/util/Map;)V", false);
        }
    }

    /** Where java.net.http gives away the body of an answer. */
    private static final class Body extends AdviceAdapter {
        private final String owner;

        Body(int access, String owner, String method, String type, MethodVisitor next) {
            super(Opcodes.ASM9, next, access, method, type);
            this.owner = owner;
        }

        @Override
        protected void onMethodExit(int opcode) {
            if (opcode == ARETURN) {
                dup();
                loadFromRequest("method", "()Ljava/lang/String;");
                loadFromRequest("uri", "()Ljava/net/URI;");
                visitMethodInsn(INVOKESTATIC, HOOKS, "body",
                        "(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;)V", false);
            }
        }

        /** Here, as the agent's own classes cannot see those of java.net.http. */
        private void loadFromRequest(String method, String type) {
            loadThis();
            visitMethodInsn(INVOKEVIRTUAL, owner, "request", "()Ljava/net/http/HttpRequest;", false);
            visitMethodInsn(INVOKEVIRTUAL, "java/net/http/HttpRequest", method, type, false);
        }
    }

    /** Where Java's reflection reads a field. */
    private static final class Reflection extends AdviceAdapter {
        Reflection(int access, String owner, String method, String type, MethodVisitor next) {
            super(Opcodes.ASM9, next, access, method, type);
        }

        @Override
        protected void onMethodEnter() {
            loadThis();
            loadArg(0);
            visitMethodInsn(INVOKESTATIC, HOOKS, "readByReflection",
                    "(Ljava/lang/reflect/Field;Ljava/lang/Object;)V", false);
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

    /** Where Java makes a handle that gives all kinds of access to a field. */
    private static final class VariableHandle extends AdviceAdapter {
        VariableHandle(int access, String owner, String method, String type, MethodVisitor next) {
            super(Opcodes.ASM9, next, access, method, type);
        }

        @Override
        protected void onMethodEnter() {
            loadArg(0);
            visitMethodInsn(INVOKESTATIC, HOOKS, "variableHandle", "(Ljava/lang/Object;)V", false);
        }
    }
}
