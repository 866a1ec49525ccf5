import {
  packageEndpoints,
  type WirePackage,
  type WirePackageDescription,
  type WirePackageFile,
} from "../../contract/forge/packages/admin-packages.ts";
import {
  containerImageEndpoints,
  type WireContainerImage,
} from "../../contract/forge/packages/containers.ts";
import { OwnerTabs, UserLink } from "./elements.tsx";
import {
  EmptyState,
  Facts,
  Pager,
  Rendered,
  Table,
  Time,
  toBytesText,
} from "../../pages/elements.tsx";
import { get, type PathParams, toPageNumber, toPath } from "../../pages/page.ts";
import { type ForgePageContext, type ForgePageRoute } from "./forge-page.ts";

const LIMIT = 50;
const LIST = "/:owner/-/packages";
const VERSION = "/:owner/-/packages/:type/:name/:version";

/** Packages of an owner and their versions. */
export function packagePages(): ForgePageRoute[] {
  return [get(LIST, showPackages), get(VERSION, showVersion)];
}

async function showPackages({ call, request }: ForgePageContext, params: PathParams<typeof LIST>) {
  const { owner } = params;
  const page = toPageNumber(request);
  const query = { page: String(page), limit: String(LIMIT) };
  const { body: versions, total = 0 } = await call(packageEndpoints.listOwnerPackages, {
    params: { owner },
    query,
  });
  return {
    kind: "page",
    title: `Packages of ${owner}`,
    body: (
      <>
        <h1>{owner}</h1>
        <OwnerTabs owner={owner} current="packages" />
        {versions.length === 0 ? (
          <EmptyState>No packages.</EmptyState>
        ) : (
          <ul className="list">
            {versions.map((version) => (
              <li key={version.id}>
                <a
                  href={toPath(owner, "-", "packages", version.type, version.name, version.version)}
                >
                  {`${version.name} ${version.version}`}
                </a>
                <p className="quiet">
                  {version.type}, published <Time at={version.created_at} />
                </p>
              </li>
            ))}
          </ul>
        )}
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

async function showVersion(context: ForgePageContext, params: PathParams<typeof VERSION>) {
  const { call } = context;
  const { body: version } = await call(packageEndpoints.getPackageVersion, { params });
  const { body: files } = await call(packageEndpoints.listPackageFiles, { params });
  const { repository } = version;
  const { body: description } = await call(packageEndpoints.getPackageDescription, { params });
  const image = params.type === "container" ? await showImage(call, params) : undefined;
  return {
    kind: "page",
    title: `${version.name} ${version.version}`,
    body: (
      <>
        <h1>
          <a href={toPath(params.owner)}>{params.owner}</a> /{" "}
          <bdi>{`${version.name} ${version.version}`}</bdi>
        </h1>
        <OwnerTabs owner={params.owner} current="packages" />
        <Facts
          rows={[
            ["Type", version.type],
            ["Owner", <UserLink key="owner" user={version.owner} />],
            [
              "Published",
              <>
                <Time at={version.created_at} /> by <UserLink user={version.creator} />
              </>,
            ],
            [
              "Repository",
              repository === null ? undefined : (
                <a href={toPath(repository.owner.login, repository.name)}>{repository.full_name}</a>
              ),
            ],
          ]}
        />
        {image}
        <Install lines={toInstallLines(version, files, context.publicUrl())} />
        {await showDescription(context, description, params.owner)}
        <h2>Files</h2>
        <Table
          label="Files"
          columns={["Name", "Size", "SHA-256"]}
          rows={files.map((file) => ({
            key: String(file.id),
            cells: [file.name, toBytesText(file.size), <code key="hash">{file.sha256}</code>],
          }))}
        />
      </>
    ),
  } as const;
}

/** Files of a generic package whose download is shown. */
const DOWNLOADS_SHOWN = 10;

/** Returns the commands that install a version, or download its files. */
function toInstallLines(
  { type, name, version, owner: { login } }: WirePackage,
  files: readonly WirePackageFile[],
  publicUrl: string,
): string[] {
  const registry = `${publicUrl}/api/packages/${login}/${type}`;
  if (type === "npm") return [`npm install ${name}@${version} --registry=${registry}/`];
  if (type === "pypi") return [`pip install --index-url ${registry}/simple/ ${name}==${version}`];
  if (type !== "generic") return [];
  return files
    .slice(0, DOWNLOADS_SHOWN)
    .map((file) => `curl -OJ '${registry}${toPath(name, version, file.name)}'`);
}

function Install({ lines }: { lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <>
      <h2>Install</h2>
      <pre tabIndex={0}>{lines.join("\n")}</pre>
    </>
  );
}

/** What the metadata of a version says, with its readme. */
async function showDescription(
  { render }: ForgePageContext,
  {
    summary,
    readme,
    readme_type,
    license,
    home_page,
    requires,
    dependencies,
  }: WirePackageDescription,
  owner: string,
) {
  const isMarkdown = /^text\/markdown\b/i.test(readme_type);
  const html =
    isMarkdown && readme !== ""
      ? await render({ text: readme, mode: "markdown", context: toPath(owner) })
      : undefined;
  return (
    <>
      <Facts
        rows={[
          ["Summary", summary || undefined],
          ["License", license || undefined],
          ["Home page", home_page === "" ? undefined : <Address key="home" text={home_page} />],
          ["Requires", requires || undefined],
          ["Dependencies", dependencies.length === 0 ? undefined : dependencies.join(", ")],
        ]}
      />
      {readme === "" ? null : (
        <section className="card" aria-label="Readme">
          <p className="head">Readme</p>
          <Rendered html={html} text={readme} />
        </section>
      )}
    </>
  );
}

const TAGS_SHOWN = 50;

/** What a page shows of an image: how to pull it, its platforms and labels, and the tags of the package. */
async function showImage(
  call: ForgePageContext["call"],
  { owner, name, version }: PathParams<typeof VERSION>,
) {
  const params = { owner, name, version };
  const { body: image } = await call(containerImageEndpoints.getContainerImage, { params });
  const { body: versions } = await call(packageEndpoints.listPackageVersions, {
    params: { owner, type: "container", name },
    query: { page: "1", limit: String(TAGS_SHOWN) },
  });
  const tags = versions.filter((each) => !each.version.includes(":"));
  return (
    <>
      <pre tabIndex={0}>{`docker pull ${image.reference}`}</pre>
      <Facts
        rows={[
          ["Digest", <code key="digest">{image.digest}</code>],
          ["Size", toBytesText(image.size)],
          ["Platforms", image.platforms.length === 0 ? undefined : image.platforms.join(", ")],
          ["Description", image.labels["org.opencontainers.image.description"]],
          ["Documentation", toDocumentation(image)],
        ]}
      />
      <h2>Tags</h2>
      {tags.length === 0 ? (
        <EmptyState>No tags.</EmptyState>
      ) : (
        <ul className="list">
          {tags.map((each) => (
            <li key={each.id}>
              <a href={toPath(owner, "-", "packages", "container", name, each.version)}>
                {each.version}
              </a>
            </li>
          ))}
        </ul>
      )}
      <LabelTable labels={image.labels} />
    </>
  );
}

function LabelTable({ labels }: { labels: WireContainerImage["labels"] }) {
  const entries = Object.entries(labels);
  if (entries.length === 0) return undefined;
  return (
    <>
      <h2>Labels</h2>
      <Table
        label="Labels"
        columns={["Name", "Value"]}
        rows={entries.map(([key, value]) => ({
          key,
          cells: [<code key="name">{key}</code>, value],
        }))}
      />
    </>
  );
}

/** The README or the documentation that a label names, if it is on the web. */
function toDocumentation({ labels }: WireContainerImage) {
  const address =
    labels["io.artifacthub.package.readme-url"] ?? labels["org.opencontainers.image.documentation"];
  return address === undefined ? undefined : <Address text={address} />;
}

/** An address of a package: a link if it is on the web. */
function Address({ text }: { text: string }) {
  if (!/^https?:\/\/\S+$/.test(text)) return text;
  return (
    <a href={text} rel="nofollow noopener">
      {text}
    </a>
  );
}
