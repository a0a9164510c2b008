package shop;

/** Prices for people. */
public final class Prices {
    private Prices() {}

    /** Such as "12.50 EUR". */
    public static String format(int cents) {
        return String.format("%d.%02d EUR", cents / 100, cents % 100);
    }
}
