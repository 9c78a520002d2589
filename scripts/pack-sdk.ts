/**
 * Writes `dist/offhook-client-<version>.tgz`: the SDK as plain modules with types, for users without a clone. Prints its path.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '..');
const from = (...parts: string[]): string => path.join(ROOT, ...parts);
const manifestOf = (folder: string): { version: string; license: string } =>
  JSON.parse(fs.readFileSync(from(folder, 'package.json'), 'utf8')) as { version: string; license: string };

function run(program: string, args: readonly string[], cwd: string): void {
  const { status, error, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stdout + stderr}`);
}
/** Compiles modules to JavaScript with their `.d.ts`, by TypeScript itself. */
function compile(folder: string): void {
  const config = {
    extends: from('tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      // A build state of its own, so that the next check can use that of the whole repository.
      tsBuildInfoFile: from('node_modules/.cache/sdk.tsbuildinfo'),
      declaration: true,
      rewriteRelativeImportExtensions: true,
      rootDir: ROOT,
      outDir: folder,
      typeRoots: [from('node_modules', '@types')],
    },
    include: [from('client/client.ts'), from('contract/*.ts'), from('contract/operations/*.ts')],
  };
  const file = path.join(folder, 'tsconfig.json');
  fs.writeFileSync(file, JSON.stringify(config));
  run(from('node_modules/.bin/tsc'), ['-p', file], folder);
}
/** Rewrites imports of declarations to the packed layout, without zod. */
function declarations(text: string, up: string): string {
  return (
    text
      // The compiler writes inferred types as `import("…")`.
      .replaceAll(/(['"])@offhook\/contract\/([a-z/-]+)\.ts\1/g, "'./contract/$2.js'")
      .replaceAll(/(['"])(\.{1,2}\/[a-z/-]+)\.ts\1/g, "'$2.js'")
      .replaceAll(/import (?:type )?\{ z \} from 'zod'/g, `import type * as z from '${up}schemas.js'`)
      .replaceAll('z.core.$', 'z.$')
  );
}

/** Path of the tarball in `into`. */
export function packSdk(into: string): string {
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-sdk-'));
  try {
    const built = path.join(work, 'built');
    const packed = path.join(work, 'package');
    fs.mkdirSync(built);
    fs.mkdirSync(path.join(packed, 'contract'), { recursive: true });
    compile(built);
    for (const name of fs.readdirSync(path.join(built, 'client'))) {
      const text = fs.readFileSync(path.join(built, 'client', name), 'utf8');
      fs.writeFileSync(path.join(packed, name), name.endsWith('.d.ts') ? declarations(text, './') : text);
    }
    // Only types come from the contract, so its modules are left out.
    for (const name of fs
      .readdirSync(path.join(built, 'contract'))
      .filter((file) => file.endsWith('.d.ts'))) {
      const text = fs.readFileSync(path.join(built, 'contract', name), 'utf8');
      fs.writeFileSync(path.join(packed, 'contract', name), declarations(text, '../'));
    }
    fs.copyFileSync(from('scripts/sdk-schemas.d.ts'), path.join(packed, 'schemas.d.ts'));
    fs.copyFileSync(from('client/README.md'), path.join(packed, 'README.md'));
    fs.copyFileSync(from('LICENSE'), path.join(packed, 'LICENSE'));
    const { version, license } = manifestOf('client');
    const manifest = {
      name: '@offhook/client',
      version,
      description: 'The SDK of Offhook: typed REST, the event stream that misses nothing, and live stores.',
      license,
      type: 'module',
      sideEffects: false,
      exports: {
        '.': { types: './client.d.ts', default: './client.js' },
        './contract/*': { types: './contract/*.d.ts' },
        './package.json': './package.json',
      },
      types: './client.d.ts',
      engines: { node: '>=22' },
    };
    fs.writeFileSync(path.join(packed, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    fs.mkdirSync(into, { recursive: true });
    run('npm', ['pack', '--silent', '--offline', '--pack-destination', into], packed);
    return path.join(into, `offhook-client-${version}.tgz`);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

if (import.meta.main) console.log(packSdk(from('dist')));
