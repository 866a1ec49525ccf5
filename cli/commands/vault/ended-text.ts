/** How many other sessions came to an end, as a sentence. */
export function toEndedText(count: number): string {
  if (count === 0) return "No other session was open.";
  return count === 1 ? "One other session has ended." : `${count} other sessions have ended.`;
}
