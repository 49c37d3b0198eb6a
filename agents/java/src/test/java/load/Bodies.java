/*
 * A program that mostly computes, for the benchmark: five bodies attract each other, and each step reads fields of objects of
 * another class 140 times. Prints how many nanoseconds a step takes, once it is compiled.
 *   java load.Bodies STEPS
 */
package load;

public final class Bodies {
    private static final int BODIES = 5;
    private static final double STEP = 1e-4;
    /** Of so many runs, the last one counts. */
    private static final int RUNS = 4;

    static final class Body {
        final double mass;
        double x;
        double y;
        double speedX;
        double speedY;

        Body(int number) {
            mass = 1.0 / number;
            x = number;
            y = number * 0.7;
        }
    }

    private Bodies() {}

    static void attract(Body one, Body other) {
        double x = one.x - other.x;
        double y = one.y - other.y;
        double square = x * x + y * y;
        double force = STEP / (square * Math.sqrt(square));
        one.speedX -= x * other.mass * force;
        one.speedY -= y * other.mass * force;
        other.speedX += x * one.mass * force;
        other.speedY += y * one.mass * force;
    }

    static void step(Body[] bodies) {
        for (int one = 0; one < bodies.length; one++) {
            for (int other = one + 1; other < bodies.length; other++) {
                attract(bodies[one], bodies[other]);
            }
        }
        for (Body body : bodies) {
            body.x += STEP * body.speedX;
            body.y += STEP * body.speedY;
        }
    }

    public static void main(String[] arguments) {
        int steps = Integer.parseInt(arguments[0]);
        Body[] bodies = new Body[BODIES];
        for (int number = 0; number < BODIES; number++) {
            bodies[number] = new Body(number + 1);
        }
        long nanos = 0;
        for (int run = 0; run < RUNS; run++) {
            long begin = System.nanoTime();
            for (int step = 0; step < steps; step++) {
                step(bodies);
            }
            nanos = System.nanoTime() - begin;
        }
        System.out.println(nanos / steps);
        System.err.println(bodies[0].x); // So that nothing of it may be left out.
    }
}
