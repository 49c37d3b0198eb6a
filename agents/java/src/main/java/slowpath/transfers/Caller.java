/*
 * Who asks for something, and for how many responses that stands: more than one where not the call path of each is looked
 * for (Shares).
 */
package slowpath.transfers;

final class Caller {
    final CallPath path;
    final int standsFor;

    Caller(CallPath path, int standsFor) {
        this.path = path;
        this.standsFor = standsFor;
    }
}
