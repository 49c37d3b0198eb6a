/*
 * A station whose constructor says what its fields are called in JSON.
 */
package families;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;

@JsonIgnoreProperties(ignoreUnknown = true)
public final class MadeStation {
    private final String numberOfTheStation;
    private final String title;

    @JsonCreator
    MadeStation(@JsonProperty("code") String numberOfTheStation, @JsonProperty("name") String title) {
        this.numberOfTheStation = numberOfTheStation;
        this.title = title;
    }

    String title() {
        return title;
    }
}
