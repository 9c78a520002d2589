import { useRef } from 'react';
import type { ReactNode } from 'react';
import { Button, FileButton } from '@mantine/core';
import { Upload } from 'lucide-react';

export interface ChooseFileProps {
  readonly text: string;
  /** Name of the input for screen readers; `text` without it. */
  readonly label?: string;
  readonly accept: string;
  readonly loading?: boolean;
  readonly disabled?: boolean;
  readonly onFile: (file: File) => void;
}
/** Button that opens the browser's choice of a file. The same file can be chosen again, for example after a correction. */
export function ChooseFile({ text, label, accept, onFile, ...state }: ChooseFileProps): ReactNode {
  const reset = useRef<() => void>(null);
  return (
    <FileButton
      resetRef={reset}
      accept={accept}
      onChange={(file) => {
        if (file === null) return;
        reset.current?.();
        onFile(file);
      }}
      inputProps={{ 'aria-label': label ?? text }}
    >
      {(props) => (
        <Button {...props} {...state} variant="default" leftSection={<Upload size={16} aria-hidden />}>
          {text}
        </Button>
      )}
    </FileButton>
  );
}
