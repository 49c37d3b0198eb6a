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

    /**
     * A {@link Watched}, or null. The type is not in the signature, as JVMs before 21 compile no method into its callers whose
     * signature has a class that the loader of the method's class has not looked up.
     */
    Object slowpath$watched();

    void slowpath$watch(Watched watched);
}
