package shop;

public final class Main {
    public static void main(String[] args) {
        Discount summer = new PercentDiscount(15);
        Invoice invoice = new Invoice();
        invoice.add(summer.apply(2450));
        System.out.println("before: " + Prices.format(2450));
        System.out.println(invoice.total());
    }
}
