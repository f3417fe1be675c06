/** Names for people. */

/** Turns `order_items` into `Order items`. */
export const titleFromName = (name: string): string => {
  const words = name.replaceAll('_', ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};
