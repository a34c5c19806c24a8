// The name of the person at this browser, under which comments and annotations stand. It is asked once and kept in the browser: the server
// knows keys, not people.
import { signal } from "@preact/signals";

export const person = signal(localStorage.getItem("spangrove.person") ?? "");

export function setPerson(name: string): void {
  person.value = name.trim();
  localStorage.setItem("spangrove.person", person.value);
}
