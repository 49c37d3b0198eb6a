/*
 * Classes with an annotation of JSON-B in each place where it may stand; see Shapes.
 */
package slowpath.transfers;

import jakarta.json.bind.annotation.JsonbTransient;

final class ByJsonB {
    private ByJsonB() {}

    static class Plain {
        String x;
    }

    static class OnField {
        @JsonbTransient
        String x;
    }

    static class OnGetter {
        String x;

        @JsonbTransient
        String getX() {
            return x;
        }
    }

    static class OnSetter {
        String x;

        @JsonbTransient
        void setX(String value) {
            x = value;
        }
    }
}
