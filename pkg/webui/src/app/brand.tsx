/** The mark of the product. */
export function Brand() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#056f5f" />
      <path d="M8 9h10M12 16h12M12 23h7M8 9v14h4M8 16h4" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
