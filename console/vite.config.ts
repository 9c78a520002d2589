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
export const config = defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
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
        // What many pages share is one file: each file of its own costs half a kilobyte of headers and a request.
        codeSplitting: {
          groups: [
            { name: 'shared', minShareCount: 10 },
            { name: 'icons', test: /lucide-react/, minShareCount: 2 },
          ],
        },
      },
    },
  },
});
// oxlint-disable-next-line import/no-default-export -- the tool asks for it
export default config;
