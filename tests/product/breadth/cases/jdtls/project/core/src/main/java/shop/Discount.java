package shop;

/** How a price changes before it is paid. */
public interface Discount {
    /** The price in cents that remains. */
    int apply(int cents);
}
