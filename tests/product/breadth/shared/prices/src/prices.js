export function cheapest(plants) {
  const wanted = "fern";
  let best = null;
  for (const plant of plants) {
    if (best == null || plant.price < best.price) {
      best = plant;
    }
  }
  return best;
}
