/** Import it before a module with words in a unit test: they are then the English ones, as the build puts them into a page. */
import { globSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';

const LOCALES = path.join(import.meta.dirname, '../locales/en');
const tables = globSync('*.json', { cwd: LOCALES }).map((file) => [
  path.basename(file, '.json'),
  JSON.parse(readFileSync(path.join(LOCALES, file), 'utf8')) as unknown,
]);
const source = `
  const all = async () => ({ default: ${JSON.stringify(Object.fromEntries(tables))} });
  export const FIRST = [];
  export const FILES = { en: { first: all, others: all } };`;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'virtual:words'
      ? { url: `data:text/javascript,${encodeURIComponent(source)}`, shortCircuit: true }
      : next(specifier, context),
});
const kept = new Map<string, string>();
Object.defineProperty(globalThis, 'localStorage', {
  configurable: true,
  value: {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  },
});
