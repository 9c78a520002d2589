import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Lengths follow the size of the page's text, which is larger on a wide wall and where a reader has set it so. */
const lengthsInRem = {
  postcssPlugin: 'lengths-in-rem',
  Declaration(declaration: { value: string }) {
    declaration.value = declaration.value.replaceAll(/(?<![\w.#]|\w-)(\d*\.?\d+)px\b/g, (own, px: string) =>
      Number(px) < 4 ? own : `${Number(px) / 16}rem`,
    );
  },
};
const WORDS = 'virtual:words';
const LOCALES = path.join(import.meta.dirname, 'locales');
/** The areas of what a wall and an agent see first; those of the other pages are a second file of each language. */
const FIRST = [
  'app',
  'customer',
  'desk',
  'directory',
  'dispositions',
  'dock',
  'errors',
  'extras',
  'presence',
  'wallboard',
];
/** Parts that open at a click, with floating-ui; not in the first load. */
const OVERLAYS =
  /floating-ui|components\/(?:Combobox\/(?!ComboboxChevron)|(?:Menu|Modal|ModalBase|Popover|ScrollArea|Tooltip)\/)/;
/** Modules that the frame of a page shares with them. */
const FRAME =
  /react-remove-scroll|create-safe-context|use-window-event|components\/(?:Accordion|Combobox)\/\w+Chevron/;
/** `virtual:words`: for each language how its two files are loaded, which hold the tables of `locales/<language>/<area>.json`. */
const words = {
  name: 'words',
  resolveId: (id: string) => (id.startsWith(WORDS) ? `\0${id}` : null),
  load(this: { addWatchFile(file: string): void }, id: string) {
    if (!id.startsWith(`\0${WORDS}`)) return null;
    const [language, part] = id.split('/').slice(1);
    if (language === undefined) {
      const of = globSync('*/', { cwd: LOCALES }).map((one) => path.basename(one));
      const rows = of.map(
        (one) =>
          `${one}: { first: () => import('${WORDS}/${one}/first'), others: () => import('${WORDS}/${one}/others') }`,
      );
      return `export const FIRST = ${JSON.stringify(FIRST)}; export const FILES = { ${rows.join(', ')} };`;
    }
    const files = globSync(`${language}/*.json`, { cwd: LOCALES }).toSorted();
    const wanted = files.filter((one) => FIRST.includes(path.basename(one, '.json')) === (part === 'first'));
    const tables = wanted.map((one) => {
      const file = path.join(LOCALES, one);
      this.addWatchFile(file);
      return [path.basename(one, '.json'), JSON.parse(readFileSync(file, 'utf8')) as unknown];
    });
    return `export default JSON.parse(${JSON.stringify(JSON.stringify(Object.fromEntries(tables)))});`;
  },
};
export const config = defineConfig({
  root: import.meta.dirname,
  plugins: [react(), words],
  // The service puts a nonce of its own in the place of this word into each answer.
  html: { cspNonce: 'OFFHOOK_NONCE' },
  css: { postcss: { plugins: [lengthsInRem] } },
  build: {
    target: 'es2023',
    // Nothing is put into the page as a data: address, which the policy of a page would refuse for scripts and fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_500,
    rolldownOptions: {
      output: {
        // Modules of many pages are one file: each file of its own costs half a kilobyte of headers and a request.
        codeSplitting: {
          groups: [
            { name: 'frame', test: FRAME },
            { name: 'shared', test: (id: string) => !OVERLAYS.test(id), minShareCount: 13 },
            { name: 'overlays', test: OVERLAYS, minShareCount: 2 },
            { name: 'icons', test: /lucide-react/, minShareCount: 2 },
          ],
        },
      },
    },
  },
});
// oxlint-disable-next-line import/no-default-export -- the tool asks for it
export default config;
