# Runs in cpack before packages are closed: puts what was staged where Debian wants it.
foreach(component ${CPACK_COMPONENTS_ALL})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
  string(TOUPPER ${component} upper)
  # The configuration of a package does not lie below its prefix.
  if(EXISTS ${root}/usr/etc)
    file(RENAME ${root}/usr/etc ${root}/etc)
  endif()
  set(documents ${root}/usr/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  file(MAKE_DIRECTORY ${documents})
  file(COPY ${CPACK_TAILOR_SOURCE}/deploy/debian/copyright DESTINATION ${documents})
  file(COPY_FILE ${CPACK_TAILOR_SOURCE}/CHANGELOG.md ${documents}/changelog)
  file(WRITE ${documents}/changelog.Debian "tailor (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
    "  * What is new is in changelog.gz.\n\n -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 1970 00:00:00 +0000\n")
  file(GLOB_RECURSE pages ${root}/usr/share/man/*)
  execute_process(COMMAND gzip -9nf ${pages} ${documents}/changelog ${documents}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND chmod -R u=rwX,go=rX ${root} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
