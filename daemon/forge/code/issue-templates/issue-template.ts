import type {
  WireIssueConfig,
  WireIssueTemplate,
} from "../../../contract/forge/code/issue-templates.ts";
import type { ExpressionValue } from "../../../workflows/expressions/values.ts";
import { isMapping, type Mapping } from "../../../workflows/mapping.ts";
import { parseYaml, WorkflowError } from "../../../workflows/yaml-source.ts";
import { findFieldFault } from "./template-fields.ts";

/** A file of a folder of templates. */
export interface TemplateFile {
  /** From the top folder. */
  readonly path: string;
  readonly text: string;
}

/** The templates of a repository, and why other files are not valid templates. */
export interface ParsedTemplates {
  readonly templates: readonly WireIssueTemplate[];
  /** Reasons by path. */
  readonly errors: Readonly<Record<string, string>>;
}

/** The configuration of the template chooser; the defaults and a reason when the file is invalid. */
export interface ParsedConfig {
  readonly config: WireIssueConfig;
  readonly error: string | undefined;
}

/** Maximum characters of the text that replace a missing description. */
const ABOUT_MAX = 80;

/** The configuration of a repository without a configuration file. */
export const defaultConfig: WireIssueConfig = { blank_issues_enabled: true, contact_links: [] };

/** Parses issue templates: Markdown with a YAML head, and forms in YAML. */
export function parseTemplates(files: readonly TemplateFile[]): ParsedTemplates {
  const templates: WireIssueTemplate[] = [];
  const errors: Record<string, string> = {};
  for (const file of files) {
    try {
      const template = file.path.endsWith(".md") ? parseMarkdown(file) : parseForm(file);
      if (template.name.trim() === "") throw new Fault("'name' is required");
      if (template.about.trim() === "") throw new Fault("'about' is required");
      templates.push(template);
    } catch (error) {
      if (!(error instanceof Fault) && !(error instanceof WorkflowError)) throw error;
      errors[file.path] = error.message;
    }
  }
  return { templates, errors };
}

/** Parses `config.yaml`. */
export function parseConfig(text: string): ParsedConfig {
  try {
    const value = toMapping(parseYaml(text).value);
    const links = value["contact_links"] ?? [];
    if (!Array.isArray(links)) throw new Fault("contact_links must be a list");
    const blank = value["blank_issues_enabled"] ?? true;
    if (typeof blank !== "boolean") throw new Fault("blank_issues_enabled must be true or false");
    return {
      config: { blank_issues_enabled: blank, contact_links: links.map(toContactLink) },
      error: undefined,
    };
  } catch (error) {
    if (!(error instanceof Fault) && !(error instanceof WorkflowError)) throw error;
    return { config: defaultConfig, error: error.message };
  }
}

/** A file that is not a valid template; the message is for its author. */
class Fault extends Error {}

/** A file without a valid head is a template as a whole, named after the file. */
function parseMarkdown({ path, text }: TemplateFile): WireIssueTemplate {
  const [head, content] = splitHead(text);
  const value = head === undefined ? undefined : parseHead(head);
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (value === undefined)
    return { ...toTemplate(path, {}), name, about: toAbout(text), content: text };
  return { ...toTemplate(path, value), content };
}

function splitHead(text: string): readonly [head: string | undefined, content: string] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const isFence = (line: string | undefined) => line?.trimEnd() === "---";
  if (!isFence(lines[0])) return [undefined, text];
  const end = lines.findIndex((line, at) => at > 0 && isFence(line));
  if (end === -1) return [undefined, text];
  return [lines.slice(1, end).join("\n"), lines.slice(end + 1).join("\n")];
}

/** Returns undefined for a head that is not a mapping. */
function parseHead(head: string): Mapping | undefined {
  try {
    const { value } = parseYaml(head);
    return isMapping(value) ? value : undefined;
  } catch (error) {
    if (error instanceof WorkflowError) return undefined;
    throw error;
  }
}

function toAbout(text: string): string {
  const characters = Array.from(text);
  return characters.length > ABOUT_MAX ? `${characters.slice(0, ABOUT_MAX - 1).join("")}…` : text;
}

function parseForm({ path, text }: TemplateFile): WireIssueTemplate {
  const value = toMapping(parseYaml(text).value);
  const fields = value["body"] ?? [];
  if (!Array.isArray(fields) || fields.length === 0) throw new Fault("'body' is required");
  const body = fields.map(toField);
  const fault = findFieldFault(body);
  if (fault !== undefined) throw new Fault(fault);
  return { ...toTemplate(path, value), body };
}

/** Reads the members that all templates have. A reference without its kind is a branch. */
function toTemplate(path: string, value: Mapping): WireIssueTemplate {
  const ref = toText(value, "ref");
  return {
    name: toText(value, "name"),
    title: toText(value, "title"),
    about: toText(value, "about") || toText(value, "description"),
    labels: toNames(value, "labels"),
    assignees: toNames(value, "assignees"),
    ref: ref.startsWith("refs/") ? ref : `refs/heads/${ref}`,
    content: "",
    body: null,
    file_name: path,
  };
}

function toField(
  field: ExpressionValue,
  at: number,
): NonNullable<WireIssueTemplate["body"]>[number] {
  const value = toMapping(field);
  const type = toText(value, "type");
  const visible = value["visible"];
  return {
    type,
    id: toText(value, "id") || String(at),
    attributes: isMapping(value["attributes"]) ? value["attributes"] : null,
    validations: isMapping(value["validations"]) ? value["validations"] : null,
    visible: Array.isArray(visible)
      ? visible.map(String)
      : type === "markdown"
        ? ["form"]
        : ["form", "content"],
  };
}

function toContactLink(
  link: ExpressionValue,
  at: number,
): WireIssueConfig["contact_links"][number] {
  const value = toMapping(link);
  const [name, url, about] = [toText(value, "name"), toText(value, "url"), toText(value, "about")];
  for (const [key, text] of Object.entries({ name, url, about }))
    if (text === "") throw new Fault(`contact_link at position ${at + 1} is missing ${key} key`);
  if (!URL.canParse(url)) throw new Fault(`${url} is not a valid URL`);
  return { name, url, about };
}

/** A list of names, or one text with commas between them; null when absent. */
function toNames(value: Mapping, key: string): string[] | null {
  const list = value[key];
  if (list === undefined || list === null) return null;
  const names = Array.isArray(list) ? list : String(list).split(",");
  if (names.some((name) => name !== null && typeof name === "object"))
    throw new Fault(`'${key}' should be a list of names`);
  return names.map((name) => String(name).trim()).filter((name) => name !== "");
}

function toText(value: Mapping, key: string): string {
  const text = value[key];
  if (text === undefined || text === null) return "";
  if (typeof text === "object") throw new Fault(`'${key}' should be a string`);
  return String(text);
}

function toMapping(value: ExpressionValue | undefined): Mapping {
  if (value === null || value === undefined) return {};
  if (!isMapping(value)) throw new Fault("the file must be a mapping");
  return value;
}
