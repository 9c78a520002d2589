/**
 * Writes `dist/offhook-simulator-<version>.tgz`: the simulator as plain JavaScript with its dependencies, because Node
 * strips no types in `node_modules`. Prints its path.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { build } from 'rolldown';

const ROOT = path.resolve(import.meta.dirname, '..');
const from = (...parts: string[]): string => path.join(ROOT, ...parts);
const NODE = 24;
/** From the second start on, Node reads the compiled program from its cache. An older Node could not even load the program. */
const CLI = `#!/usr/bin/env node
import module from 'node:module';
if (parseInt(process.versions.node) < ${NODE}) {
  process.stderr.write('The simulator needs Node ${NODE} or later; this is ' + process.versions.node + '.\\n');
  process.exitCode = 1;
} else {
  module.enableCompileCache();
  await import('./main.js');
}
`;

/** Path of the tarball in `into`. */
export async function packSimulator(into: string): Promise<string> {
  const packed = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-pack-'));
  try {
    await build({
      cwd: ROOT,
      platform: 'node',
      logLevel: 'silent',
      input: {
        index: from('server/src/simulator/simulator.ts'),
        main: from('server/src/programs/simulator.ts'),
        thread: from('server/src/features/sounds/thread.ts'),
      },
      output: {
        dir: packed,
        format: 'esm',
        entryFileNames: '[name].js',
        chunkFileNames: '[name].js',
        // Half the text takes Node a third less time to read; names of functions stay for stack traces.
        minify: {
          compress: { keepNames: { function: true, class: true } },
          mangle: { keepNames: { function: true, class: true } },
        },
      },
      plugins: [
        {
          name: 'worker',
          // The conversion thread is started by its path, which a bundler does not follow.
          renderChunk: (code) => code.replace('"./thread.ts"', '"./thread.js"'),
        },
      ],
    });
    fs.writeFileSync(path.join(packed, 'cli.js'), CLI);
    fs.cpSync(from('server/src/features/front-door/assets'), path.join(packed, 'assets'), {
      recursive: true,
    });
    fs.copyFileSync(from('scripts/simulator.d.ts'), path.join(packed, 'index.d.ts'));
    fs.copyFileSync(from('docs/simulator.md'), path.join(packed, 'README.md'));
    fs.copyFileSync(from('LICENSE'), path.join(packed, 'LICENSE'));
    const { version, license } = JSON.parse(fs.readFileSync(from('server/package.json'), 'utf8')) as {
      version: string;
      license: string;
    };
    const manifest = {
      name: '@offhook/simulator',
      version,
      description:
        'Offhook without an engine: its API, stream, webhooks and records for the tests of an integration.',
      license,
      type: 'module',
      bin: { simulator: './cli.js' },
      exports: { '.': { types: './index.d.ts', default: './index.js' }, './package.json': './package.json' },
      types: './index.d.ts',
      engines: { node: `>=${NODE}` },
    };
    fs.writeFileSync(path.join(packed, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    fs.mkdirSync(into, { recursive: true });
    const npm = spawnSync('npm', ['pack', '--silent', '--offline', '--pack-destination', into], {
      cwd: packed,
      encoding: 'utf8',
    });
    if (npm.status !== 0) throw new Error(`npm pack failed: ${npm.error?.message ?? npm.stderr}`);
    return path.join(into, `offhook-simulator-${version}.tgz`);
  } finally {
    fs.rmSync(packed, { recursive: true, force: true });
  }
}

if (import.meta.main) console.log(await packSimulator(from('dist')));
