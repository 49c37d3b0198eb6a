/* Stands for a client of a remote service: the agent's option `remote` names `Client#order` and `Client#generated`. */
package soak.deployed;

final class Client {
    private Client() {}

    static Order order(int number) {
        if (number % 4 == 3) {
            throw new IllegalArgumentException("no answer");
        }
        return new Order(number);
    }

    static Valued generated(Class<?> type) throws ReflectiveOperationException {
        return (Valued) type.getDeclaredConstructor().newInstance();
    }
}
