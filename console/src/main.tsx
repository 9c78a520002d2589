import './app/first-styles.ts';
import './app/page.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { keepFocus } from './app/focus.ts';
import { styleNonce } from './app/theme.ts';
import { loadWords } from './app/words.ts';

// The library that locks the scrolling behind a dialog reads the nonce here.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });
keepFocus();
const root = document.querySelector('#root');
if (root === null) throw new Error('index.html has no #root');
const page = createRoot(root);
// Not awaited at the top level: that would split the entry into many small files.
void loadWords().then(() =>
  page.render(
    <StrictMode>
      <App />
    </StrictMode>,
  ),
);
