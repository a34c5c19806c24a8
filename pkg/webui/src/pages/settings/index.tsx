// Settings: the project, its keys and providers, and of the server the projects, its state and the audit log.
import type { ComponentType } from "preact";
import { href } from "../../app/router.ts";
import { Empty } from "../../parts/common.tsx";
import { AuditTab } from "./audit.tsx";
import { KeysTab } from "./keys.tsx";
import { ProjectTab } from "./project.tsx";
import { ProjectsTab } from "./projects.tsx";
import { ProvidersTab } from "./providers.tsx";
import { ServerTab } from "./server.tsx";

const tabs: Record<string, { label: string; Tab: ComponentType }> = {
  project: { label: "Project", Tab: ProjectTab },
  keys: { label: "Keys", Tab: KeysTab },
  providers: { label: "Providers", Tab: ProvidersTab },
  projects: { label: "All projects", Tab: ProjectsTab },
  server: { label: "Server", Tab: ServerTab },
  audit: { label: "Audit log", Tab: AuditTab },
};

export function Page({ path }: { path: string[] }) {
  const chosen = path[0] ?? "project";
  const tab = Object.hasOwn(tabs, chosen) ? tabs[chosen] : undefined;
  return (
    <div class="page">
      <header><h1>Settings</h1></header>
      <nav class="tabs links" aria-label="Settings">
        {Object.entries(tabs).map(([name, t]) => <a key={name} href={href(["settings", name])} aria-current={name === chosen ? "page" : undefined}>{t.label}</a>)}
      </nav>
      <div class="settings">{tab ? <tab.Tab key={chosen} /> : <Empty title="There is no such page" />}</div>
    </div>
  );
}
