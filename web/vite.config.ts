// How the application is built and tested: plain files with hashed names below assets/, nothing inlined (the
// server's content security policy allows no inline scripts, styles or data addresses). In development, /api
// goes to a server or the mock (SLOWPATH_SERVER).
import react from '@vitejs/plugin-react';
import type { BuildOptions } from 'vite';
import { defineConfig } from 'vitest/config';

/** `--mode report`: one script and one style sheet, which `slowpath report` puts into a page with answers. */
const report: BuildOptions = {
  outDir: 'dist/report',
  copyPublicDir: false,
  cssCodeSplit: false,
  rolldownOptions: {
    input: 'src/main.tsx',
    output: { format: 'iife', entryFileNames: 'report.js', assetFileNames: 'report[extname]' },
  },
};

export default defineConfig(({ mode }) => ({
  plugins: [react()],
  build: {
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
    sourcemap: false,
    ...(mode === 'report' ? report : {}),
  },
  server: {
    proxy: { '/api': process.env.SLOWPATH_SERVER ?? 'http://127.0.0.1:7601' },
  },
  test: {
    include: ['src/**/*.test.ts'],
    environment: 'node',
  },
}));
