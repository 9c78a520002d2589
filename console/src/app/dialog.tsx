import { useRef, useState } from 'react';
import type { FocusEvent, ReactNode } from 'react';
import { Drawer, Modal } from '@mantine/core';
import type { ModalProps } from '@mantine/core';
import { useWindowEvent } from '@mantine/hooks';
import { Ask } from './danger.tsx';
import { wordsOf } from './words.ts';

const t = wordsOf('app');

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;
const valueOf = (field: Field): string =>
  field instanceof HTMLInputElement && /^(?:checkbox|radio)$/.test(field.type)
    ? String(field.checked)
    : field.value;

interface DialogProps extends Pick<
  ModalProps,
  'opened' | 'onClose' | 'title' | 'size' | 'centered' | 'children'
> {
  /** A dialog at the right edge, as high as the window, instead of a centred one. */
  readonly side?: boolean;
}
/** A dialog with fields: Escape, a click beside it and its close button ask first if fields were changed. */
export function Dialog({ side = false, centered = false, children, ...dialog }: DialogProps): ReactNode {
  const { opened, onClose } = dialog;
  const content = useRef<HTMLDivElement>(null);
  const [before] = useState(() => new WeakMap<Element, string>());
  const [asks, setAsks] = useState(false);
  const fields = (which: string): Field[] => [...(content.current?.querySelectorAll<Field>(which) ?? [])];
  const remember = ({ target }: FocusEvent): void => {
    // A list of tags keeps its values in a hidden field; the one with the focus is empty again after each tag.
    for (const field of [...fields('input[type=hidden]'), target as Field])
      if (!before.has(field) && field.matches('input, textarea, select')) before.set(field, valueOf(field));
  };
  const leave = (): void => {
    const isChanged = fields('input, textarea, select').some(
      (field) => before.has(field) && before.get(field) !== valueOf(field),
    );
    if (isChanged) setAsks(true);
    else onClose();
  };
  // The component's own Escape closes all open dialogs at once.
  useWindowEvent(
    'keydown',
    (event) => {
      if (event.key !== 'Escape' || event.isComposing || !opened || !(event.target instanceof Element))
        return;
      const pressedIn = event.target.closest('[role=dialog]');
      const ofList = event.target.getAttribute('data-mantine-stop-propagation') === 'true';
      if (!ofList && (pressedIn === null ? !asks : pressedIn.contains(content.current))) leave();
    },
    { capture: true },
  );
  const shared = { ...dialog, onClose: leave, closeOnEscape: false };
  const body = (
    <div ref={content} onFocus={remember}>
      {children}
    </div>
  );
  return (
    <>
      {side ? (
        <Drawer {...shared} position="right">
          {body}
        </Drawer>
      ) : (
        <Modal {...shared} centered={centered}>
          {body}
        </Modal>
      )}
      <Ask
        title={t('discard_title')}
        text={t('discard_text')}
        yes={t('discard')}
        opened={opened && asks}
        busy={false}
        error={null}
        onYes={() => {
          setAsks(false);
          onClose();
        }}
        onClose={() => setAsks(false)}
      />
    </>
  );
}
