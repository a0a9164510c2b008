package shop;

/** Takes some percent off. */
public final class PercentDiscount implements Discount {
    private final int percent;

    public PercentDiscount(int percent) {
        this.percent = percent;
    }

    @Override
    public int apply(int cents) {
        return cents - cents * percent / 100;
    }
}
