/*
 * What all things that the services exchange have: the first two of a ticket's twelve fields.
 */
package shop;

public abstract class Entity {
    protected String id;
    protected int version;

    public String getId() {
        return id;
    }

    public void setId(String id) {
        this.id = id;
    }

    public int getVersion() {
        return version;
    }

    public void setVersion(int version) {
        this.version = version;
    }
}
