/*
 * What every class of the application that has fields becomes when it is loaded: its objects can be asked for
 * what watches them. Implemented by generated code only.
 */
package slowpath.transfers;

public interface Watchable {
    /** The added field that the methods below get and set. */
    String FIELD = "$slowpath$watched";
    /** The names of the methods below. */
    String GET = "slowpath$watched";
    String SET = "slowpath$watch";

    Watched slowpath$watched();

    void slowpath$watch(Watched watched);
}
