// Light, dark, or as the system has it; kept in this browser.
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const stored = localStorage.getItem("spangrove.theme");
export const theme = signal<Theme>(stored === "light" || stored === "dark" ? stored : "system");

effect(() => {
  const value = theme.value;
  if (value === "system") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("spangrove.theme");
  } else {
    document.documentElement.dataset.theme = value;
    localStorage.setItem("spangrove.theme", value);
  }
});

/** Goes to the next theme. */
export function nextTheme(): void {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
}
