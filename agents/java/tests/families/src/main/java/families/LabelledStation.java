/*
 * A station as a program has it that adds fields of its own, which JSON does not fill: `label`, `length`, `note`, `parent`
 * and `counts`.
 */
package families;

import com.fasterxml.jackson.annotation.JsonBackReference;
import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonIgnoreType;
import com.fasterxml.jackson.annotation.JsonProperty;

@JsonIgnoreProperties({"note", "lines", "latitude", "longitude"})
public class LabelledStation {
    @JsonProperty("code")
    private String numberOfTheStation;
    private String name;
    private int platforms;
    @JsonIgnore
    private String label;
    @JsonProperty(access = JsonProperty.Access.READ_ONLY)
    private int length;
    private String note;
    @JsonBackReference
    private LabelledStation parent;
    public Counts counts = new Counts();

    @JsonIgnoreType
    static class Counts {
        int visits = 1;
    }

    public String getName() {
        return name;
    }

    public void setName(String name) {
        this.name = name;
    }

    @JsonIgnore
    public int getPlatforms() {
        return platforms;
    }

    @JsonProperty
    public void setPlatforms(int platforms) {
        this.platforms = platforms;
    }

    public void setNote(String note) {
        this.note = note;
    }

    String label() {
        if (label == null) {
            label = name + " " + length + " " + note;
        }
        return label;
    }
}
