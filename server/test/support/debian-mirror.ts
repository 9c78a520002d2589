/** A signed Debian mirror on a free loopback port; a test can corrupt its answers. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { ProvisionError } from '../../src/adapters/asterisk/provision/error.ts';
import type { Machine } from '../../src/adapters/asterisk/provision/machine.ts';
import { run } from '../../src/adapters/asterisk/provision/run.ts';
import type { TestKey } from './openpgp.ts';

const TRIPLETS: Readonly<Record<string, string>> = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };
export const ARCH = process.arch === 'x64' ? 'amd64' : process.arch;
export const TRIPLET = TRIPLETS[process.arch] ?? process.arch;

export interface TestPackage {
  readonly name: string;
  /** Path in the package → content. */
  readonly files: Readonly<Record<string, string | Buffer>>;
  readonly depends?: string;
  /** Defaults to 1.0. */
  readonly version?: string;
}
export interface TestRelease {
  readonly key: TestKey;
  readonly packages: readonly TestPackage[];
  /** Milliseconds since 1970; defaults to a minute ago. */
  readonly date?: number;
  readonly valid_until?: number;
}
type Spoil = (body: Buffer, response: http.ServerResponse) => Buffer | null;
export interface TestMirror extends AsyncDisposable {
  readonly url: string;
  /** `path range` of each request so far. */
  readonly requests: string[];
  /** Corrupts answers for paths with this ending; null sends nothing beyond what `how` sent. */
  spoil(ending: string, how: Spoil): void;
  mend(): void;
  /** Replaces a suite. */
  publish(suite: string, release: TestRelease): Promise<void>;
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

async function buildDeb(folder: string, wanted: TestPackage): Promise<Buffer> {
  const tree = path.join(folder, 'tree', wanted.name);
  fs.rmSync(tree, { recursive: true, force: true });
  const files = {
    ...wanted.files,
    'DEBIAN/control': `Package: ${wanted.name}\nVersion: ${wanted.version ?? '1.0'}\nArchitecture: ${ARCH}\nMaintainer: Test <t@example.invalid>\nDescription: for a test\n`,
  };
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(tree, name)), { recursive: true });
    fs.writeFileSync(path.join(tree, name), content, { mode: name.startsWith('usr/') ? 0o755 : 0o644 });
  }
  const deb = path.join(folder, `${wanted.name}.deb`);
  // Uncompressed: the file is as large as its content.
  const built = await run(['dpkg-deb', '--root-owner-group', '-Znone', '--build', tree, deb]);
  if (built.code !== 0) throw new Error(built.stderr);
  return fs.readFileSync(deb);
}

async function buildRelease(folder: string, suite: string, release: TestRelease, files: Map<string, Buffer>) {
  const stanzas: string[] = [];
  for (const wanted of release.packages) {
    const deb = await buildDeb(path.join(folder, suite), wanted);
    const version = wanted.version ?? '1.0';
    const name = `pool/main/${suite}/${wanted.name}_${version}_${ARCH}.deb`;
    files.set(name, deb);
    const depends = wanted.depends ? `Depends: ${wanted.depends}\n` : '';
    stanzas.push(
      `Package: ${wanted.name}\nVersion: ${version}\nArchitecture: ${ARCH}\n${depends}Filename: ${name}\nSize: ${deb.length}\nSHA256: ${sha256(deb)}\nDescription: for a test\n`,
    );
  }
  const index = Buffer.from(stanzas.join('\n'));
  const at = `main/binary-${ARCH}/Packages`;
  files.set(`dists/${suite}/${at}`, index);
  const date = new Date(release.date ?? Date.now() - 60_000).toUTCString();
  const until = release.valid_until;
  const valid = until === undefined ? '' : `Valid-Until: ${new Date(until).toUTCString()}\n`;
  const text = `Origin: Debian\nSuite: ${suite}\nCodename: ${suite}\nDate: ${date}\n${valid}Architectures: ${ARCH}\nComponents: main\nSHA256:\n ${sha256(index)} ${index.length} ${at}\n`;
  files.set(`dists/${suite}/InRelease`, Buffer.from(release.key.clearsign(text)));
}

/** Serves `releases` (by suite) until disposed; `folder` is for building. */
export async function testMirror(
  folder: string,
  releases: Readonly<Record<string, TestRelease>>,
): Promise<TestMirror> {
  const files = new Map<string, Buffer>();
  for (const [suite, release] of Object.entries(releases)) {
    await buildRelease(path.join(folder, 'build'), suite, release, files);
  }
  const requests: string[] = [];
  const spoils: [string, Spoil][] = [];
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(request.url ?? '').replace(/^\/debian\//, '');
    requests.push(`${name} ${request.headers.range ?? ''}`.trim());
    const whole = files.get(name);
    if (!whole) {
      response.writeHead(404).end();
      return;
    }
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const spoiled = spoils.find(([ending]) => name.endsWith(ending))?.[1](whole, response);
    if (spoiled === null) return;
    const part = (spoiled ?? whole).subarray(from);
    response.writeHead(from > 0 ? 206 : 200, {
      'content-length': part.length,
      'last-modified': 'Tue, 14 Nov 2023 00:00:00 GMT',
      ...(from > 0 ? { 'content-range': `bytes ${from}-${whole.length - 1}/${whole.length}` } : {}),
    });
    response.end(part);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/debian`,
    requests,
    spoil: (ending, how) => spoils.push([ending, how]),
    mend: () => spoils.splice(0),
    publish: (suite, release) => buildRelease(path.join(folder, 'build'), suite, release, files),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** A package with a loader, which a program's tree needs. */
export const treePackage = (name: string, bytes = 1000, version = '1.0'): TestPackage => ({
  name,
  version,
  files: {
    [`usr/lib/${TRIPLET}/ld-linux-test.so.2`]: 'loader',
    [`usr/share/${name}/data`]: Buffer.alloc(bytes, name),
  },
});

/** A machine that trusts only `keyring`. */
export const testMachine = (keyrings: readonly string[], aptLines: readonly string[] = []): Machine => ({
  arch: ARCH,
  triplet: TRIPLET,
  keyrings,
  mirrors: [],
  security: [],
  aptLines,
});
/** The error of an operation that must fail. */
export const refusal = async (work: Promise<unknown>): Promise<ProvisionError> => {
  const error = await work.then(
    () => assert.fail('it was not refused'),
    (e: unknown) => e,
  );
  assert.ok(error instanceof ProvisionError, String(error));
  return error;
};
