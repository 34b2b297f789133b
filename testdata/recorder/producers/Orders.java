import java.util.*;
import java.util.function.*;
import java.util.stream.*;

/** Sorts orders by a comparator that is a lambda, through streams, reflection and a record. */
public class Orders {
    record Order(int number, String text) {}

    interface Price<T> { long of(T order); }

    static class Book<T extends Comparable<T>> {
        final List<T> all = new ArrayList<>();
        long add(T one, Price<T> price) { all.add(one); return price.of(one); }
    }

    static long work(int round) throws Exception {
        Book<String> book = new Book<>();
        Function<Integer, String> name = i -> "order-" + (i * 7919 % 1000) + "-" + round;
        List<Order> orders = IntStream.range(0, 20000).mapToObj(i -> new Order(i, name.apply(i))).collect(Collectors.toList());
        orders.sort(Comparator.comparing(Order::text).thenComparingInt(Order::number));
        long sum = 0;
        for (Order order : orders) sum += book.add(order.text(), text -> { long h = 0; for (char c : text.toCharArray()) h = 31 * h + c; return h & 0xff; });
        return sum + (int) Orders.class.getDeclaredMethod("byReflection", int.class).invoke(null, round);
    }

    static int byReflection(int n) { return new Object() { int twice() { return 2 * n; } }.twice(); }

    public static void main(String[] args) throws Exception {
        long until = System.currentTimeMillis() + Long.parseLong(args[0]);
        long sum = 0;
        for (int round = 0; System.currentTimeMillis() < until; round++) sum += work(round);
        System.out.println(sum);
    }
}
