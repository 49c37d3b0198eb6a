/*
 * Which classes are the application's own: only those can be remote objects, and only they stand in call paths. Their
 * reads are seen, and those of others that are no well-known library. By name alone, so that the answer is the same wherever it is asked.
 */
package slowpath.transfers;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

final class Packages {
    /** Frameworks and drivers. What is missing here costs a little time and shows in call paths. */
    private static final String[] LIBRARIES = {
        "java.", "javax.", "jakarta.", "jdk.", "sun.", "com.sun.", "com.oracle.", "kotlin.", "kotlinx.", "scala.",
        "groovy.", "clojure.", "slowpath.transfers.", "org.springframework.", "org.apache.", "org.hibernate.",
        "com.fasterxml.", "tools.jackson.", "com.google.gson.", "com.google.common.", "com.google.protobuf.",
        "com.google.inject.", "io.netty.", "io.grpc.", "io.micrometer.", "io.opentelemetry.", "io.opentracing.",
        "io.jaegertracing.", "io.prometheus.", "io.vertx.", "io.undertow.", "io.quarkus.", "io.smallrye.",
        "io.micronaut.", "io.helidon.", "io.reactivex.", "io.lettuce.", "reactor.", "okhttp3.", "okio.",
        "retrofit2.", "feign.", "rx.", "ch.qos.", "org.slf4j.", "org.jboss.", "org.wildfly.", "org.yaml.",
        "org.aspectj.", "org.eclipse.jetty.", "org.eclipse.jdt.", "org.glassfish.", "org.codehaus.", "org.objectweb.",
        "org.aopalliance.", "org.mockito.", "org.junit.", "org.postgresql.", "org.h2.", "org.mariadb.",
        "org.reactivestreams.", "org.hsqldb.", "org.antlr.", "org.xerial.", "org.json.", "org.joda.",
        "org.mapstruct.", "org.modelmapper.",
        "org.elasticsearch.client.", "org.thymeleaf.", "org.jspecify.", "org.flywaydb.", "org.quartz.", "org.redisson.",
        "co.elastic.", "com.mongodb.", "org.bson.", "com.mysql.", "com.zaxxer.", "com.github.benmanes.",
        "com.ctc.wstx.",
        "com.netflix.", "net.bytebuddy.", "net.sf.", "net.minidev.", "javassist.", "redis.clients.",
    };

    /** More than this only where classes are generated without end. */
    private static final int MOST_ANSWERS = 10_000;

    private final Map<String, Boolean> answers = new ConcurrentHashMap<>();
    private final String[] only;
    private final String[] excluded;

    /**
     * @param only prefixes of the application's names, or none: everything but well-known libraries
     * @param excluded prefixes of names that are not the application's
     */
    Packages(List<String> only, List<String> excluded) {
        this.only = only.toArray(new String[0]);
        this.excluded = excluded.toArray(new String[0]);
    }

    /** Whether a class of this name, with points between packages, is the application's. */
    boolean contain(String className) {
        Boolean answer = answers.get(className);
        if (answer == null) {
            answer = find(className);
            if (answers.size() >= MOST_ANSWERS) {
                answers.clear();
            }
            answers.put(className, answer);
        }
        return answer;
    }

    /** Whether a class that is not the application's, of this name, might read fields of objects of the application. */
    boolean mayBeReadBy(String className) {
        return !startsWithAny(className, LIBRARIES);
    }

    private boolean find(String className) {
        if (startsWithAny(className, excluded)) {
            return false;
        }
        return only.length == 0 ? !startsWithAny(className, LIBRARIES) : startsWithAny(className, only);
    }

    private static boolean startsWithAny(String name, String[] prefixes) {
        for (String prefix : prefixes) {
            if (name.startsWith(prefix)) {
                return true;
            }
        }
        return false;
    }
}
