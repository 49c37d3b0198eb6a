/*
 * Which field `x` of these classes JSON fills, and how the constants of these enums are written, as Jackson has it: a line
 * each. What the agent makes of the same annotations must be that.
 *   java families.Shapes
 */
package families;

import com.fasterxml.jackson.annotation.JsonAlias;
import com.fasterxml.jackson.annotation.JsonAnyGetter;
import com.fasterxml.jackson.annotation.JsonAnySetter;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonFormat;
import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonIncludeProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import com.fasterxml.jackson.databind.annotation.JsonPOJOBuilder;
import java.io.IOException;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;

public final class Shapes {
    private Shapes() {}

    static class Plain {
        public String x;
    }

    static class OnField {
        @JsonIgnore
        public String x;
    }

    static class OnGetter {
        private String x;

        @JsonIgnore
        public String getX() {
            return x;
        }

        public void setX(String value) {
            x = value;
        }
    }

    static class WithSetter {
        private String x;

        @JsonIgnore
        public String getX() {
            return x;
        }

        @JsonSetter
        public void setX(String value) {
            x = value;
        }
    }

    static class WithFormat {
        @JsonIgnore
        private String x;

        @JsonFormat
        public void setX(String value) {
            x = value;
        }
    }

    static class WithDeserializer {
        private String x;

        @JsonIgnore
        public String getX() {
            return x;
        }

        @JsonDeserialize(as = String.class)
        public void setX(String value) {
            x = value;
        }
    }

    static class WithAlias {
        private String x;

        @JsonIgnore
        public String getX() {
            return x;
        }

        @JsonAlias("y")
        public void setX(String value) {
            x = value;
        }
    }

    static class WithOtherMethod {
        private String x;

        @JsonIgnore
        public String getX() {
            return x;
        }

        @JsonProperty("x")
        public void fill(String value) {
            x = value;
        }
    }

    static class Both {
        @JsonIgnore
        @JsonProperty
        public String x;
    }

    static class ReadOnly {
        private String x;

        @JsonProperty
        public String getX() {
            return x;
        }

        @JsonIgnore
        public void setX(String value) {
            x = value;
        }
    }

    static class ByConstructor {
        private final String id;
        private final String x;

        @JsonCreator
        ByConstructor(@JsonProperty("x") String value, @JsonProperty("id") String id) {
            this.id = id;
            x = value;
        }

        @JsonIgnore
        public String getX() {
            return x + id;
        }
    }

    static class ByFactory {
        private String x;

        @JsonCreator
        static ByFactory of(@JsonProperty("x") String value) {
            ByFactory made = new ByFactory();
            made.x = value;
            return made;
        }

        @JsonIgnore
        public String getX() {
            return x;
        }
    }

    @JsonDeserialize(builder = Built.Builder.class)
    static class Built {
        @JsonIgnore
        private String x;

        @JsonPOJOBuilder(withPrefix = "")
        static class Builder {
            private final Built built = new Built();

            public Builder x(String value) {
                built.x = value;
                return this;
            }

            public Built build() {
                return built;
            }
        }
    }

    @JsonDeserialize(using = ByDeserializer.Deserializer.class)
    static class ByDeserializer {
        @JsonIgnore
        private String x;

        static class Deserializer extends JsonDeserializer<ByDeserializer> {
            @Override
            public ByDeserializer deserialize(JsonParser parser, DeserializationContext context) throws IOException {
                ByDeserializer made = new ByDeserializer();
                made.x = parser.<JsonNode>readValueAsTree().get("x").asText();
                return made;
            }
        }
    }

    /** As generators of classes have it. */
    static class WithAny {
        public String id;
        @JsonIgnore
        private final Map<String, Object> x = new HashMap<>();

        @JsonAnyGetter
        public Map<String, Object> getX() {
            return x.isEmpty() ? null : x;
        }

        @JsonAnySetter
        public void set(String name, Object value) {
            x.put(name, value);
        }
    }

    static class WithAnyField {
        public String id;
        @JsonAnySetter
        @JsonIgnore
        private Map<String, Object> x;
    }

    static class OfAnother {
        private final String x;

        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        OfAnother(Map<String, String> other) {
            x = other.get("x");
        }

        @JsonIgnore
        public String getX() {
            return x;
        }
    }

    static class OfAnotherByFactory {
        private String x;

        @JsonCreator
        static OfAnotherByFactory of(Map<String, String> other) {
            OfAnotherByFactory made = new OfAnotherByFactory();
            made.x = other.get("x");
            return made;
        }

        @JsonIgnore
        public String getX() {
            return x;
        }
    }

    static class ByNamedConstructor {
        private final String id;
        @JsonIgnore
        private String x;

        @JsonCreator
        ByNamedConstructor(@JsonProperty("id") String id) {
            this.id = id;
        }
    }

    @JsonIgnoreProperties("x")
    static class Listed {
        public String x;
    }

    @JsonIncludeProperties("id")
    static class NotIncluded {
        public String id;
        public String x;
    }

    @JsonIncludeProperties({})
    static class NoneIncluded {
        public String x;
    }

    /** What is included has another name in JSON. */
    @JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
    @JsonIncludeProperties("first_name")
    static class Renamed {
        @JsonAlias("x")
        public String firstName;
    }

    static class Counted extends HashMap<String, String> {
        public String x;
    }

    enum ByName {
        FIRST
    }

    enum Annotated {
        @JsonProperty("the first one")
        FIRST
    }

    enum ByGetter {
        FIRST("the first one");

        private final String text;

        ByGetter(String text) {
            this.text = text;
        }

        @JsonValue
        public String getText() {
            return text;
        }
    }

    enum ByNumber {
        FIRST(17);

        @JsonValue
        private final int code;

        ByNumber(int code) {
            this.code = code;
        }
    }

    @JsonFormat(shape = JsonFormat.Shape.NUMBER)
    enum ByOrdinal {
        FIRST
    }

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
        Class<?>[] shapes = Shapes.class.getDeclaredClasses();
        Arrays.sort(shapes, Comparator.comparing(Class::getSimpleName));
        for (Class<?> shape : shapes) {
            if (shape.isEnum()) {
                String text = json.writeValueAsString(shape.getEnumConstants()[0]);
                System.out.println(shape.getSimpleName() + " " + text.length());
            } else {
                Object made = json.readValue("{\"x\":\"X\",\"id\":\"I\"}", shape);
                for (Field field : shape.getDeclaredFields()) {
                    field.setAccessible(true);
                    System.out.println(shape.getSimpleName() + "." + field.getName() + " " + (field.get(made) != null));
                }
            }
        }
    }
}
