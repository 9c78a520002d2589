/** Dialogs of a board, loaded with the first one. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import type { Board, NewBoard } from '@offhook/contract/boards.ts';
import { Dialog } from '../app/dialog.tsx';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { Displays, SaveFirst } from './displays.tsx';
import { Editor } from './editor.tsx';
import { wordsOf } from '../app/words.ts';

const e = wordsOf('board-editor');
const t = wordsOf('wallboard');

export type OpenedDialog =
  | { readonly is: 'editor'; readonly board: Board | null; readonly from: Required<NewBoard> }
  | { readonly is: 'displays'; readonly board: Board | null; readonly from: Required<NewBoard> }
  | { readonly is: 'delete'; readonly board: Board };
interface DialogsProps {
  readonly opened: OpenedDialog;
  readonly onClose: () => void;
}
export function Dialogs({ opened, onClose }: DialogsProps): ReactNode {
  switch (opened.is) {
    case 'editor':
      return (
        <Dialog
          opened
          onClose={onClose}
          side
          size="lg"
          title={t(opened.board === null ? 'new_board' : 'edit')}
        >
          <Editor board={opened.board} from={opened.from} onDone={onClose} />
        </Dialog>
      );
    case 'displays':
      return <DisplaysOf board={opened.board} from={opened.from} onClose={onClose} />;
    case 'delete':
      return (
        <Modal opened onClose={onClose} title={e('delete_board')}>
          <Delete board={opened.board} onDone={onClose} />
        </Modal>
      );
  }
}
type DisplaysOfProps = Omit<Extract<OpenedDialog, { readonly is: 'displays' }>, 'is'> &
  Pick<DialogsProps, 'onClose'>;
function DisplaysOf({ board, from, onClose }: DisplaysOfProps): ReactNode {
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [saved, setSaved] = useState(board);
  const close = (): void => {
    onClose();
    if (saved === null || saved === board) return;
    // Last, because the dialog is part of the page of the built-in board.
    void queries.invalidateQueries({ queryKey: ['boards'] });
    go(PAGE_PATHS.board.replace(':board', String(saved.id)));
  };
  return (
    <Dialog opened onClose={close} title={t('displays')} size="lg">
      {saved === null ? (
        <SaveFirst from={from} onSaved={setSaved} onClose={close} />
      ) : (
        <Displays board={saved} />
      )}
    </Dialog>
  );
}
function Delete({ board, onDone }: { readonly board: Board; readonly onDone: () => void }): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const { mutate, isPending, error } = useOnce({
    mutationFn: () => client.boards.remove(board.id),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['boards'] });
      go(PAGE_PATHS.wallboard);
      onDone();
    },
  });
  return (
    <Stack>
      <Text>{e('delete_text', { name: board.name })}</Text>
      {error !== null && <Failure error={error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onDone}>
          {e('cancel')}
        </Button>
        <Button color="red" loading={isPending} onClick={() => mutate()}>
          {t('delete')}
        </Button>
      </Group>
    </Stack>
  );
}
