import { Time } from "../../../pages/elements.tsx";
import {
  ActionForm,
  DeleteEntry,
  Entries,
  type SettingsEntry,
  type SettingsField,
} from "./settings-form.tsx";
import type { View } from "./settings-page.tsx";

/** An SSH key, of an account or of a repository. */
interface ShownKey {
  readonly id: number;
  readonly title: string;
  readonly fingerprint: string;
  readonly read_only: boolean;
  readonly created_at: string;
}

/** The SSH keys of a page, and the form that adds one. `label` names the list; `name` names one of them. */
export function KeyList({
  view,
  keys,
  access,
  name,
  ...list
}: {
  view: View;
  keys: readonly ShownKey[];
  total: number | undefined;
  label: string;
  empty: string;
  command?: string;
  name: string;
  /** The field of the form that says whether the key may write. */
  access: Readonly<Record<string, SettingsField>>;
}) {
  const entries = keys.map((key): SettingsEntry => ({
    key: key.id,
    name: <bdi>{key.title}</bdi>,
    note: (
      <>
        <code>{key.fingerprint}</code> · {key.read_only ? "reads" : "reads and writes"} · added{" "}
        <Time at={key.created_at} />
      </>
    ),
    tools: (
      <DeleteEntry view={view} hidden={{ id: String(key.id) }} submit={`Delete ${key.title}`} />
    ),
  }));
  return (
    <>
      <Entries view={view} entries={entries} {...list} />
      <ActionForm
        heading={`Add ${name}`}
        view={view}
        action="add"
        submit="Add key"
        fields={{
          title: { label: "Title", max: 255 },
          key: { label: "Public key", type: "multiline" },
          ...access,
        }}
      />
    </>
  );
}
