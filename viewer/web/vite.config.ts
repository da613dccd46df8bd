import { defineConfig } from "vite";

// One script and one style sheet with fixed names: they are embedded into the programs.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: "assets/tailor.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
        codeSplitting: false,
      },
    },
  },
});
