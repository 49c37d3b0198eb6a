/* What arrives at Server: `printed` is read by toString only, and each field that begins with `never` by nobody. */
package soak.deployed;

final class Order {
    static final class Customer {
        String name = "customer";
        String neverAddress = "address";
    }

    int number;
    Customer customer = new Customer();
    long inLambda = 1;
    boolean afterException = true;
    String printed = "p";
    String never = "n";
    int neverEither = 2;

    Order(int number) {
        this.number = number;
    }

    @Override
    public String toString() {
        throw new UnsupportedOperationException(printed);
    }
}
