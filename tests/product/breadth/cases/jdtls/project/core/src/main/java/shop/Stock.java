package shop;

import java.util.HashMap;
import java.util.Map;

/** How many of each article are left. */
public final class Stock {
    private final Map<String, Integer> left = new HashMap<>();

    public int of(String article) {
        String count = left.getOrDefault(article, 0);
        return count;
    }
}
