import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export const config = defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  // The service puts a nonce of its own in the place of this word into each answer.
  html: { cspNonce: 'OFFHOOK_NONCE' },
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
