/* What arrives: its fields are public, and read by classes of another package. */
package elsewhere.data;

public class Item {
    public String read = "r";
    public String never = "n";

    public static Item fetch() {
        return new Item();
    }
}
