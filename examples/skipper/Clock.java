/*
 * What the example's releases run: tells the time and ends. It asks nobody anything and is not what is watched.
 */
public class Clock {
    public static void main(String[] arguments) {
        System.out.println(java.time.LocalTime.now());
    }
}
