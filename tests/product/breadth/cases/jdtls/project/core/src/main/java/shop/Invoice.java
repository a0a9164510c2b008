package shop;

import java.util.ArrayList;
import java.util.List;

/** What one customer has to pay. */
public final class Invoice {
    private final List<Integer> amounts = new ArrayList<>();

    public void add(int cents) {
        amounts.add(cents);
    }

    public String total() {
        int sum = amounts.stream().mapToInt(Integer::intValue).sum();
        return "total " + Prices.format(sum);
    }
}
