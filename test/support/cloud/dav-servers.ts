import { spawn, type ChildProcess } from "node:child_process";
import { createHash, randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, globSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** WebDAV servers of the system's packages. lighttpd wants people to sign in by a digest, the others by Basic. */
export type DavServerName = "apache" | "lighttpd" | "nginx" | "rclone" | "sabre" | "tomcat";

/** A separate server, run as this user, on a loopback port. `await using` stops it and removes its files. */
export interface DavServer extends AsyncDisposable {
  readonly origin: string;
  /** The folder that it serves. */
  readonly files: string;
  /** Makes a folder below `files` that the server may write. */
  makeFolder(name: string): Promise<string>;
  /** Ends it as a crash would, and starts it again on the same port. */
  restart(): Promise<void>;
}

/** The credentials that every server accepts. */
export const davUser = { username: "anna", password: "p\u00e4ss: word" } as const;

const APACHE_MODULES = "/usr/lib/apache2/modules";
const LIGHTTPD_MODULES = "/usr/lib/lighttpd";
const SABRE = "/usr/share/php/Sabre";
const TOMCAT_JARS = "/usr/share/java/tomcat10-*.jar";
const NGINX_MODULE = "/usr/lib/nginx/modules/ngx_http_dav_ext_module.so";

/** The packages that a server lacks; undefined when it can be started. */
export function missingFor(name: DavServerName): string | undefined {
  const needs: Record<DavServerName, readonly [string, string, string?]> = {
    apache: ["apache2", "apache2", `${APACHE_MODULES}/mod_dav_fs.so`],
    lighttpd: ["lighttpd", "lighttpd-mod-webdav", `${LIGHTTPD_MODULES}/mod_webdav.so`],
    nginx: ["nginx", "libnginx-mod-http-dav-ext", NGINX_MODULE],
    rclone: ["rclone", "rclone"],
    sabre: ["php", "php-sabre-dav", `${SABRE}/autoload.php`],
    tomcat: [
      "java",
      "default-jre-headless, libtomcat10-java",
      TOMCAT_JARS.replace("*", "catalina"),
    ],
  };
  const [program, debian, file] = needs[name];
  const isThere = findProgram(program) !== undefined && (file === undefined || existsSync(file));
  return isThere ? undefined : `${debian} is not installed`;
}

/** How long one may take to answer for the first time, on a machine that does other things. */
const patienceMs = 45_000;

/** Starts one. */
export async function startDavServer(name: DavServerName): Promise<DavServer> {
  const home = await mkdtemp(join(tmpdir(), `croft-${name}-`));
  const files = join(home, "files");
  await mkdir(files);
  await mkdir(join(home, "tmp"));
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const owner = process.getuid?.() === 0 && name === "apache" ? await findWebUser() : undefined;
  await writeFile(join(home, "digests"), `${davUser.username}:dav:${toMd5(davUser)}\n`);
  await writeFile(join(home, "passwords"), `${davUser.username}:${toSha(davUser.password)}\n`);
  await chmod(home, 0o755);
  const configuration = configurations[name]({ home, files, port, owner });
  await writeFile(join(home, "server.conf"), configuration);
  if (name === "tomcat") await writeTomcatFiles(home, configuration);
  for (const folder of [files, join(home, "tmp")]) await own(folder);
  const isGroup = name === "sabre";
  let child = await launch();

  async function own(folder: string) {
    if (owner !== undefined) await chown(folder, owner.uid, owner.gid);
  }

  async function launch(): Promise<ChildProcess> {
    const started = spawn(
      findProgram(programs[name]) ?? name,
      argumentsOf(name, home, files, port),
      {
        cwd: home,
        stdio: ["ignore", "pipe", "pipe"],
        // PHP's workers outlive the process that made them: they are ended as a group.
        detached: isGroup,
        env: { PATH: process.env["PATH"], HOME: home, ...environments[name](home) },
      },
    );
    let output = "";
    for (const stream of [started.stdout, started.stderr])
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
    for (const givenUpAt = Date.now() + patienceMs; Date.now() < givenUpAt;) {
      if (started.exitCode !== null) throw new Error(`${name} does not start: ${output}`);
      if (await answers(origin)) return started;
      await sleep(25);
    }
    await stop(started, "SIGKILL", isGroup);
    throw new Error(`${name} does not answer: ${output}`);
  }

  return {
    origin,
    files,
    async makeFolder(folder) {
      const path = join(files, folder);
      await mkdir(path);
      await own(path);
      return path;
    },
    async restart() {
      await stop(child, "SIGTERM", isGroup);
      child = await launch();
    },
    async [Symbol.asyncDispose]() {
      await stop(child, "SIGTERM", isGroup);
      await rm(home, { recursive: true, force: true });
    },
  };
}

interface Place {
  readonly home: string;
  readonly files: string;
  readonly port: number;
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
}

const programs: Record<DavServerName, string> = {
  apache: "apache2",
  lighttpd: "lighttpd",
  nginx: "nginx",
  rclone: "rclone",
  sabre: "php",
  tomcat: "java",
};

function argumentsOf(name: DavServerName, home: string, files: string, port: number): string[] {
  const configuration = join(home, "server.conf");
  switch (name) {
    case "apache":
      return ["-D", "FOREGROUND", "-f", configuration];
    case "lighttpd":
      return ["-D", "-f", configuration];
    case "nginx":
      return ["-e", join(home, "error.log"), "-p", home, "-c", configuration];
    case "rclone":
      return [
        ...["serve", "webdav", files, "--addr", `127.0.0.1:${port}`],
        ...["--user", davUser.username, "--pass", davUser.password],
        // Files are changed behind its back.
        ...["--dir-cache-time", "0s", "--config", join(home, "rclone.conf")],
      ];
    case "sabre":
      return ["-S", `127.0.0.1:${port}`, configuration];
    case "tomcat":
      return [
        ...["-XX:TieredStopAtLevel=1", "-Xmx256m", `-Djava.io.tmpdir=${join(home, "tmp")}`],
        ...[`-Dcatalina.home=${home}`, `-Dcatalina.base=${home}`],
        ...["-cp", globSync(TOMCAT_JARS).join(":"), "org.apache.catalina.startup.Tomcat"],
      ];
  }
}

/** Configuration that a server reads from nowhere else. */
const environments: Record<DavServerName, (home: string) => Readonly<Record<string, string>>> = {
  apache: () => ({}),
  lighttpd: () => ({}),
  nginx: () => ({}),
  rclone: (home) => ({ RCLONE_CONFIG: join(home, "rclone.conf") }),
  // Otherwise it works on one request at a time.
  sabre: () => ({ PHP_CLI_SERVER_WORKERS: "6" }),
  // Java takes the encoding of file names from the locale.
  tomcat: () => ({ LC_ALL: "C.UTF-8" }),
};

const configurations: Record<DavServerName, (place: Place) => string> = {
  apache: ({ home, files, port, owner }) => `
ServerRoot "${home}"
ServerName 127.0.0.1
PidFile "${home}/apache.pid"
Listen 127.0.0.1:${port}
ErrorLog "${home}/error.log"
Mutex posixsem
${[
  "mpm_event",
  "authn_core",
  "authn_file",
  "authz_core",
  "authz_user",
  "auth_basic",
  "mime",
  "dav",
  "dav_fs",
]
  .map((module) => `LoadModule ${module}_module ${APACHE_MODULES}/mod_${module}.so`)
  .join("\n")}
${owner === undefined ? "" : `User #${owner.uid}\nGroup #${owner.gid}`}
TypesConfig /etc/mime.types
DocumentRoot "${files}"
DavLockDB "${home}/tmp/locks"
<Directory "${files}">
  Dav On
  AuthType Basic
  AuthName dav
  AuthUserFile "${home}/passwords"
  Require valid-user
</Directory>
`,
  lighttpd: ({ home, files, port }) => `
server.document-root = "${files}"
server.bind = "127.0.0.1"
server.port = ${port}
server.errorlog = "${home}/error.log"
server.upload-dirs = ("${home}/tmp")
server.modules = ("mod_auth", "mod_authn_file", "mod_webdav")
mimetype.assign = ("" => "application/octet-stream")
auth.backend = "htdigest"
auth.backend.htdigest.userfile = "${home}/digests"
auth.require = ("/" => ("method" => "digest", "realm" => "dav", "require" => "valid-user"))
webdav.activate = "enable"
`,
  nginx: ({ home, files, port }) => `
daemon off;
${process.getuid?.() === 0 ? "user root;" : ""}
pid ${home}/nginx.pid;
load_module ${NGINX_MODULE};
events {}
http {
  access_log off;
  client_body_temp_path ${home}/tmp/body;
  proxy_temp_path ${home}/tmp/proxy;
  fastcgi_temp_path ${home}/tmp/fastcgi;
  uwsgi_temp_path ${home}/tmp/uwsgi;
  scgi_temp_path ${home}/tmp/scgi;
  client_max_body_size 0;
  server {
    listen 127.0.0.1:${port};
    root ${files};
    auth_basic dav;
    auth_basic_user_file ${home}/passwords;
    dav_methods PUT DELETE MKCOL COPY MOVE;
    dav_ext_methods PROPFIND OPTIONS;
  }
}
`,
  rclone: () => "",
  sabre: ({ home, files }) => `<?php
error_reporting(0); // PHP is newer than this library: its warnings would stand in the answers
require_once '${SABRE}/autoload.php';
use Sabre\\DAV;
class Auth extends DAV\\Auth\\Backend\\AbstractBasic {
  function validateUserPass($u, $p) { return $u === '${davUser.username}' && $p === '${davUser.password}'; }
}
$server = new DAV\\Server(new DAV\\FSExt\\Directory('${files}'));
$server->setBaseUri('/');
$server->addPlugin(new DAV\\Auth\\Plugin(new Auth(), 'dav'));
$server->addPlugin(new DAV\\Locks\\Plugin(new DAV\\Locks\\Backend\\File('${home}/tmp/locks')));
$server->exec();
`,
  tomcat: ({ files, port }) => `<Server port="-1">
  <Service name="Catalina">
    <Connector port="${port}" address="127.0.0.1" protocol="HTTP/1.1"/>
    <Engine name="Catalina" defaultHost="localhost">
      <Host name="localhost" appBase="apps" autoDeploy="false" deployOnStartup="false">
        <Context path="" docBase="${files}">
          <Resources cachingAllowed="false"/>
          <Realm className="org.apache.catalina.realm.MemoryRealm" pathname="conf/users.xml"/>
          <Valve className="org.apache.catalina.authenticator.BasicAuthenticator" charset="UTF-8"/>
        </Context>
      </Host>
    </Engine>
  </Service>
</Server>
`,
};

/** Defaults of all applications: the folder that is served has no description of its own. */
async function writeTomcatFiles(home: string, configuration: string): Promise<void> {
  await mkdir(join(home, "conf"));
  await mkdir(join(home, "apps"));
  await writeFile(join(home, "conf", "server.xml"), configuration);
  await writeFile(
    join(home, "conf", "web.xml"),
    `<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0">
  <servlet>
    <servlet-name>webdav</servlet-name>
    <servlet-class>org.apache.catalina.servlets.WebdavServlet</servlet-class>
    <init-param><param-name>listings</param-name><param-value>true</param-value></init-param>
    <init-param><param-name>readonly</param-name><param-value>false</param-value></init-param>
  </servlet>
  <servlet-mapping><servlet-name>webdav</servlet-name><url-pattern>/*</url-pattern></servlet-mapping>
  <security-constraint>
    <web-resource-collection>
      <web-resource-name>all</web-resource-name><url-pattern>/*</url-pattern>
    </web-resource-collection>
    <auth-constraint><role-name>user</role-name></auth-constraint>
  </security-constraint>
  <login-config><auth-method>BASIC</auth-method><realm-name>dav</realm-name></login-config>
  <security-role><role-name>user</role-name></security-role>
</web-app>
`,
  );
  const { username, password } = davUser;
  await writeFile(
    join(home, "conf", "users.xml"),
    `<tomcat-users><user username="${username}" password="${password}" roles="user"/></tomcat-users>\n`,
  );
}

function toMd5({ username, password }: { username: string; password: string }): string {
  return createHash("md5").update(`${username}:dav:${password}`).digest("hex");
}

function toSha(password: string): string {
  return `{SHA}${createHash("sha1").update(password).digest("base64")}`;
}

function findProgram(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Apache never serves as root. */
async function findWebUser() {
  const accounts = (await readFile("/etc/passwd", "utf8")).split("\n");
  const fields = accounts.find((line) => /^(www-data|nobody):/.test(line))?.split(":");
  if (fields === undefined) throw new Error("there is no user that a web server may run as");
  return { uid: Number(fields[2]), gid: Number(fields[3]) };
}

/** A port outside the range of ephemeral ports, so that it stays free until its use. */
async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await new Promise((done) => server.close(done));
    return port;
  }
}

async function answers(origin: string): Promise<boolean> {
  try {
    await (await fetch(origin, { signal: AbortSignal.timeout(2_000) })).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

async function stop(child: ChildProcess, signal: NodeJS.Signals, isGroup: boolean): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  process.kill(isGroup ? -child.pid : child.pid, signal);
  await ended;
}
