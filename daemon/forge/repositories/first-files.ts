import { AppError } from "../../errors.ts";

/** The templates of files and labels for new repositories. Names are case-sensitive. */
export interface RepositoryTemplates {
  findIgnoreFile(name: string): Promise<string | undefined>;
  /** Returns the text with its placeholders. */
  findLicense(key: string): Promise<string | undefined>;
  findLabelSet(name: string): Promise<readonly TemplateLabel[] | undefined>;
}

/** A label for a new repository. */
export interface TemplateLabel {
  readonly name: string;
  readonly color: string;
  readonly description: string;
  readonly exclusive: boolean;
}

/** The requested files of the first commit. */
export interface InitialFiles {
  readonly repositoryName: string;
  readonly description: string;
  /** The name of a readme template; empty is the default one. */
  readonly readme: string;
  /** Names of ignore files, separated by commas. */
  readonly gitignores: string;
  /** Empty for no license. */
  readonly license: string;
  readonly owner: { readonly name: string; readonly email: string };
  readonly year: number;
}

const DEFAULT_README = "Default";
const IGNORE_FILES_MAX = 100;

/** Refuses with `invalid_argument` a readme template that does not exist. */
export function assertReadme(readme: string): void {
  if (readme !== "" && readme !== DEFAULT_README)
    throw new AppError(
      "invalid_argument",
      `readme template does not exist, available templates: [${DEFAULT_README}]`,
    );
}

/** Returns the files of the first commit by name. Refuses an unknown ignore file or license with `unprocessable`. */
export async function createFirstFiles(
  templates: RepositoryTemplates,
  options: InitialFiles,
): Promise<Readonly<Record<string, string>>> {
  const files: Record<string, string> = {
    "README.md": `# ${options.repositoryName}\n\n${options.description}`,
  };
  const names = [...new Set(options.gitignores.split(",").map((name) => name.trim()))].filter(
    (name) => name !== "",
  );
  if (names.length > IGNORE_FILES_MAX) throw new AppError("unprocessable", "too many gitignores");
  if (names.length > 0) files[".gitignore"] = await createIgnoreFile(templates, names);
  if (options.license !== "") {
    const text = await templates.findLicense(options.license);
    if (text === undefined)
      throw new AppError("unprocessable", `license template "${options.license}" not found`);
    files["LICENSE"] = fillLicense(text, options);
  }
  return files;
}

/** Returns the labels of a set. Refuses an unknown set with `unprocessable`. */
export async function getLabelSet(
  templates: RepositoryTemplates,
  name: string,
): Promise<readonly TemplateLabel[]> {
  const labels = await templates.findLabelSet(name);
  if (labels !== undefined) return labels;
  throw new AppError(
    "unprocessable",
    `failed to load label template file "${name}": label template "${name}" not found`,
  );
}

async function createIgnoreFile(
  templates: RepositoryTemplates,
  names: readonly string[],
): Promise<string> {
  const parts: string[] = [];
  for (const name of names) {
    const text = await templates.findIgnoreFile(name);
    if (text === undefined)
      throw new AppError("unprocessable", `gitignore template "${name}" not found`);
    parts.push(`# ---> ${name}\n${text}\n`);
  }
  return parts.join("\n");
}

/** The placeholders of license texts and their values. */
const placeholders: readonly (readonly [RegExp, (options: InitialFiles) => string])[] = [
  [/[<[](?:year|yyyy)[>\]]/gi, ({ year }) => String(year)],
  [
    /[<[](?:owner|fullname|name|name of author|name of copyright owner|copyright holders?|copyright owner|author)[>\]]/gi,
    ({ owner }) => owner.name,
  ],
  [/[<[](?:email|e-mail)[>\]]/gi, ({ owner }) => owner.email],
  [
    /[<[](?:project|program|software name|name of software)[>\]]/gi,
    ({ repositoryName }) => repositoryName,
  ],
];

function fillLicense(text: string, options: InitialFiles): string {
  return placeholders.reduce(
    (filled, [placeholder, value]) => filled.replace(placeholder, () => value(options)),
    text,
  );
}
