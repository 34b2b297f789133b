{
  description = "Deltas of cumulative pprof profiles, and a heap profiler for any program";
  inputs.nixpkgs.url = "nixpkgs/nixos-unstable";

  # nix build 'git+file:///path/to/pprofdelta?dir=packaging'
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      version = builtins.head (builtins.match ".*[\n] *version: '([0-9.]+)',.*" (builtins.readFile ../meson.build));
      package = pkgs: pkgs.stdenv.mkDerivation {
        pname = "pprofdelta";
        inherit version;
        src = ./..;
        nativeBuildInputs = with pkgs; [ meson ninja pkg-config protobufc python3 ];
        buildInputs = with pkgs; [ protobufc xxHash libdeflate zstd zlib elfutils libiberty ];
        mesonFlags = [ "-Dtests=false" ];
        meta = {
          description = "Deltas of cumulative pprof profiles, and a heap profiler for any program";
          license = pkgs.lib.licenses.mit;
          platforms = systems;
          mainProgram = "pprofdelta";
        };
      };
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: { default = package nixpkgs.legacyPackages.${system}; });
    };
}
